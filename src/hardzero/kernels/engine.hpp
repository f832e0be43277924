// Residuals and their sums by features, kept up to date while a Frank-Wolfe loop moves towards one corner at a time.
//
// A row's residual code is replaced only when it has moved by more than a tolerance. Which rows those are is defined
// by arithmetic alone (hardzero/engine.py has it in a few lines of NumPy); this class finds them faster:
//   - each row has an interval of margins inside which its code cannot have moved too far;
//   - between touches a margin only shrinks with the known scale, so the step at which it can leave its interval is
//     known, and a calendar holds the rows due at each step.
// Which way is taken (calendar or scan, changes or a full pass) depends on counts and changes the time, never a result.
#pragma once

#include "fast.hpp"

namespace hardzero {

enum class Loss { logistic = 0, squared = 1, softmax = 2 };

class Engine {
  public:
    Engine(Lines columns, Lines rows, int64_t outputs, int loss, double unit, const double* targets,
           const double* scales, int64_t steps, int64_t stride, int64_t block, int32_t* codes, int64_t* sums,
           int64_t* tops)
        : columns_(columns), rows_(rows), n_(rows.lines), p_(columns.lines), outputs_(outputs),
          loss_(static_cast<Loss>(loss)), unit_(unit), targets_(targets), scales_(scales), steps_(steps),
          stride_(stride), block_(block), codes_(codes), sums_(sums), tops_(tops), margins_(n_ * outputs, 0.0),
          fresh_(n_ * outputs), stale_((stride / block) * outputs, 0) {
        while ((int64_t{1} << shift_) < block_) ++shift_;
    }

    // Multiply all margins by the step's scale; add weight * feature to one output's.
    void add(int64_t t, int64_t output, int64_t feature, double weight) {
        const int64_t start = columns_.begin(feature), size = columns_.size(feature);
        const int32_t* const x = columns_.values + start;
        if (columns_.dense()) {
            double* const margins = margins_.data() + output;
            for (int64_t i = 0; i < size; ++i) margins[i * outputs_] += x[i] * weight;
        } else if (!calendar_) {
            for (int64_t i = 0; i < size; ++i) margins_[columns_.indices[start + i] * outputs_ + output] += x[i] * weight;
        } else {
            for (int64_t i = 0; i < size; ++i) touch(t, columns_.indices[start + i], x[i] * weight);
        }
    }

    // Replace the codes that have moved by more than `tolerance` at step t, and bring sums and tops up to date.
    void refresh(int64_t t, const double* intercept, double cap, int64_t tolerance) {
        changed_.clear();
        if (calendar_ && (tolerance != tolerance_ || intercept[0] != intercept_)) calendar_ = false;
        tolerance_ = tolerance;
        intercept_ = intercept[0];
        if (calendar_)
            look_at_due_rows(t, cap);
        else
            look_at_all_rows(t, intercept, cap);
        apply();
        touched_.clear();
    }

  private:
    void touch(int64_t t, int32_t row, double change) {
        const double u = margins_[row] += change;
        if (!inside(row, u * scales_[t] + intercept_))
            touched_.push_back(row);
        else if (due_[row] > t + 1 && !inside(row, u * scales_[std::min(due_[row], steps_ + 1) - 1] + intercept_))
            schedule(t, row);
    }

    bool inside(int32_t row, double margin) const { return margin >= lower_[row] && margin <= upper_[row]; }

    void look_at_all_rows(int64_t t, const double* intercept, double cap) {
        codes_at(t, intercept, cap);
        changed_.resize(n_);
        changed_.resize(moved_rows(fresh_.data(), codes_, n_, outputs_, tolerance_, changed_.data()));
        // A calendar pays where few rows change; if it did not last time, wait longer before the next one.
        const bool quiet = static_cast<int64_t>(changed_.size()) * 16 < n_;
        if (wait_ > 0) --wait_;
        if (quiet && wait_ == 0 && outputs_ == 1 && !columns_.dense() && tolerance_ > 2) open_calendar(t);
    }

    void codes_at(int64_t t, const double* intercept, double cap) {
        const double s = scales_[t];
        if (loss_ == Loss::logistic)
            logistic_codes(margins_.data(), s, intercept[0], targets_, unit_, cap, n_, fresh_.data());
        else if (loss_ == Loss::squared)
            squared_codes(margins_.data(), s, intercept[0], targets_, unit_, cap, n_, fresh_.data());
        else
            softmax_codes(margins_.data(), s, intercept, targets_, unit_, cap, n_, outputs_, fresh_.data());
    }

    void open_calendar(int64_t t) {
        calendar_ = true;
        lower_.resize(n_);
        upper_.resize(n_);
        due_.assign(n_, steps_ + 1);
        next_.resize(n_);
        previous_.resize(n_);
        first_.assign(steps_ + 1, -1);
        opened_ = t;
        for (int32_t i = 0; i < n_; ++i) {
            const int64_t moved = std::abs(fresh_[i] - codes_[i]);
            const double margin = margins_[i] * scales_[t] + intercept_;
            place_interval(t, i, margin, slope(margin), moved > tolerance_ ? 0 : moved);  // changed rows are replaced
        }
    }

    // Around the present margin: within it the code, now `moved` away from the one in use, stays within tolerance.
    void place_interval(int64_t t, int32_t row, double margin, double slope, int64_t moved) {
        // Two units are kept back for rounding, of this code and of the one to come.
        const double room = std::max<double>(static_cast<double>(tolerance_ - moved - 2), 0.0) / unit_;
        // Logistic: the slope at distance d is at most e^d times the slope here, so that log(1 + room/slope) is safe;
        // 2 room/(2 slope + room) is below that, and cheaper.
        const double reach = loss_ == Loss::logistic ? 2.0 * room / (2.0 * slope + room + 1e-300) : room;
        lower_[row] = margin - reach;
        upper_[row] = margin + reach;
        schedule(t, row);
    }

    double slope(double margin) const {
        if (loss_ != Loss::logistic) return 1.0;
        const double q = sigmoid(margin);
        return q * (1.0 - q);
    }

    // Enter the first step after t at which the shrinking margin can be outside: mostly soon, so look ahead in
    // growing strides, then in between.
    void schedule(int64_t t, int32_t row) {
        take_out(row);
        const double u = margins_[row];
        int64_t low = t + 1, high = steps_ + 1;
        for (int64_t stride = 1; low < high; stride *= 2) {
            const int64_t ahead = std::min(low + stride, high) - 1;
            if (!inside(row, u * scales_[ahead] + intercept_)) {
                high = ahead;
                break;
            }
            low = ahead + 1;
        }
        while (low < high) {
            const int64_t middle = (low + high) / 2;
            if (inside(row, u * scales_[middle] + intercept_))
                low = middle + 1;
            else
                high = middle;
        }
        due_[row] = low;
        if (low > steps_) return;
        previous_[row] = -1;
        next_[row] = first_[low];
        if (next_[row] >= 0) previous_[next_[row]] = row;
        first_[low] = row;
    }

    void take_out(int32_t row) {
        if (due_[row] > steps_) return;
        if (previous_[row] >= 0)
            next_[previous_[row]] = next_[row];
        else
            first_[due_[row]] = next_[row];
        if (next_[row] >= 0) previous_[next_[row]] = previous_[row];
        due_[row] = steps_ + 1;
    }

    void look_at_due_rows(int64_t t, double cap) {
        int64_t looked = static_cast<int64_t>(touched_.size());
        for (const int32_t row : touched_) look_at(t, row, cap);
        while (first_[t] >= 0) {
            ++looked;
            look_at(t, first_[t], cap);  // enters the row at a later step
        }
        if (8 * looked > n_) {  // a scan in wide vectors would have been cheaper
            calendar_ = false;
            wait_ = backoff_ = (t - opened_ > 4 * backoff_) ? 1 : std::min<int64_t>(2 * backoff_, 256);
        }
    }

    void look_at(int64_t t, int32_t row, double cap) {
        const double margin = margins_[row] * scales_[t] + intercept_;
        const bool logistic = loss_ == Loss::logistic;
        const double value = logistic ? sigmoid(margin) : margin;
        fresh_[row] = as_code(value - targets_[row], unit_, cap);
        int64_t moved = std::abs(fresh_[row] - codes_[row]);
        if (moved > tolerance_) {
            changed_.push_back(row);
            moved = 0;
        }
        place_interval(t, row, margin, logistic ? value * (1.0 - value) : 1.0, moved);
    }

    void apply() {
        if (changed_.empty()) return;
        int64_t work = 0;
        for (const int32_t row : changed_) work += rows_.size(row);
        // Adding to sums here and there costs about twice as much an entry as summing columns from end to end.
        if (2 * work > columns_.stored()) {
            for (const int32_t row : changed_)
                std::copy_n(fresh_.data() + row * outputs_, outputs_, codes_ + row * outputs_);
            column_sums(columns_, codes_, outputs_, 0, p_, stride_, sums_);
            all_tops();
            return;
        }
        const bool in_bulk = rows_.dense() || 8 * work > p_;
        for (const int32_t row : changed_)
            for (int64_t k = 0; k < outputs_; ++k) {
                const int64_t place = row * outputs_ + k;
                const int32_t change = fresh_[place] - codes_[place];
                codes_[place] = fresh_[place];
                if (change != 0) add_row(row, k, change, in_bulk);
            }
        if (in_bulk)
            all_tops();
        else
            stale_tops();
    }

    void add_row(int32_t row, int64_t output, int32_t change, bool in_bulk) {
        const int64_t start = rows_.begin(row), size = rows_.size(row);
        int64_t* const sums = sums_ + output * stride_;
        const int32_t* const x = rows_.values + start;
        if (rows_.dense()) {
            dense_add(sums, x, change, size);
            return;
        }
        const int32_t* const features = rows_.indices + start;
        if (in_bulk) {
            for (int64_t i = 0; i < size; ++i) sums[features[i]] += static_cast<int64_t>(x[i]) * change;
            return;
        }
        int64_t* const tops = tops_ + output * (stride_ / block_);
        char* const stale = stale_.data() + output * (stride_ / block_);
        for (int64_t i = 0; i < size; ++i) {
            const int64_t before = sums[features[i]], after = before + static_cast<int64_t>(x[i]) * change;
            const int64_t b = features[i] >> shift_;
            sums[features[i]] = after;
            if (std::abs(after) >= tops[b]) {
                tops[b] = std::abs(after);
            } else if (std::abs(before) == tops[b] && !stale[b]) {
                stale[b] = 1;
                stale_blocks_.push_back(output * (stride_ / block_) + b);
            }
        }
    }

    void all_tops() {
        for (int64_t k = 0; k < outputs_; ++k)
            block_tops(sums_ + k * stride_, p_, block_, tops_ + k * (stride_ / block_));
    }

    void stale_tops() {
        for (const int64_t b : stale_blocks_) {
            const int64_t in_row = b % (stride_ / block_) * block_;
            tops_[b] = largest_magnitude(sums_ + b * block_, std::min(block_, p_ - in_row));
            stale_[b] = 0;
        }
        stale_blocks_.clear();
    }

    Lines columns_, rows_;
    int64_t n_, p_, outputs_;
    Loss loss_;
    double unit_;
    const double* targets_;
    const double* scales_;
    int64_t steps_, stride_, block_, shift_ = 0;  // a block is 2^shift features
    int32_t* codes_;
    int64_t* sums_;
    int64_t* tops_;
    std::vector<double> margins_;  // divided by the scale of the step
    std::vector<int32_t> fresh_;
    std::vector<char> stale_;
    std::vector<int64_t> stale_blocks_;
    std::vector<int32_t> changed_, touched_;

    bool calendar_ = false;
    int64_t tolerance_ = 0, opened_ = 0, wait_ = 0, backoff_ = 1;
    double intercept_ = 0.0;
    std::vector<double> lower_, upper_;
    std::vector<int64_t> due_;
    std::vector<int32_t> first_, next_, previous_;
};

}  // namespace hardzero
