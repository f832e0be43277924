// Residuals and their sums by features, kept up to date while a Frank-Wolfe loop moves towards one corner at a time.
//
// A row's residual code is replaced only when it has moved by more than a tolerance. Which rows those are is defined
// by arithmetic alone (hardzero/optim/engine.py has it in a few lines of NumPy); this class finds them faster. For the logistic
// loss each row has an interval of margins inside which its code cannot have moved too far. Rows outside are found
//   - by a sweep over all rows, or
//   - by a calendar: between touches a margin only shrinks with the known scale, so the step at which it can leave its
//     interval is known, and only touched rows and rows that are due need a look.
// Which way is taken (sweep or calendar, changes or a full pass) depends on counts and changes the time, never a result.
#pragma once

#include "fast.hpp"

namespace hardzero {

enum class Loss { logistic = 0, squared = 1, softmax = 2 };

class Engine {
  public:
    // `features` tells which feature has which place among the sums; `rows` use places, `columns` features.
    Engine(Lines columns, Lines rows, const int64_t* features, int64_t outputs, int loss, double unit,
           const double* targets, const double* scales, int64_t steps, int64_t stride, int64_t block, int32_t* codes,
           int64_t* sums, int64_t* tops)
        : columns_(columns), rows_(rows), features_(features), n_(rows.lines), p_(columns.lines), outputs_(outputs),
          loss_(static_cast<Loss>(loss)), unit_(unit), targets_(targets), scales_(scales), steps_(steps),
          stride_(stride), block_(block), codes_(codes), sums_(sums), tops_(tops), margins_(n_ * outputs, 0.0),
          fresh_(n_ * outputs), stale_((stride / block) * outputs, 0) {
        while ((int64_t{1} << shift_) < block_) ++shift_;
    }

    // Add weight * feature to one output's margins, which are kept divided by the scale of step t.
    void add(int64_t t, int64_t output, int64_t feature, double weight) {
        const int64_t start = columns_.begin(feature), size = columns_.size(feature);
        const int32_t* const x = columns_.values + start;
        const int32_t* const rows = columns_.indices + start;
        double* const margins = margins_.data() + output;
        touches_ += size;
        if (columns_.dense())
            for (int64_t i = 0; i < size; ++i) margins[i * outputs_] += x[i] * weight;
        else if (!calendar_)
            for (int64_t i = 0; i < size; ++i) margins[rows[i] * outputs_] += x[i] * weight;
        else
            for (int64_t i = 0; i < size; ++i) touch(t, rows[i], x[i] * weight);
    }

    // Replace the codes that have moved by more than `tolerance` at step t, and bring sums and tops up to date.
    void refresh(int64_t t, const double* intercept, double cap, int64_t tolerance) {
        changed_.clear();
        if (loss_ != Loss::logistic || tolerance < least_tolerance) {
            intervals_ = calendar_ = false;
            tolerance_ = tolerance;
            codes_at(t, intercept, cap);
            changed_.resize(n_);
            changed_.resize(moved_rows(fresh_.data(), codes_, n_, outputs_, tolerance_, changed_.data()));
        } else {
            if (tolerance != tolerance_ || intercept[0] != intercept_) intervals_ = calendar_ = false;
            tolerance_ = tolerance;
            intercept_ = intercept[0];
            find_outside(t);
            if (!intervals_)
                look_at_all(t, cap);
            else
                look_at_outside(t, cap);
            choose_way(t);
        }
        apply();
        touches_ = 0;
    }

  private:
    static constexpr int64_t least_tolerance = 3;  // below it intervals would be empty

    bool inside(int32_t row, double margin) const { return margin >= lower_[row] && margin <= upper_[row]; }

    void touch(int64_t t, int32_t row, double change) {
        const double u = margins_[row] += change;
        if (!inside(row, u * scales_[t] + intercept_))
            outside_.push_back(row);
        else if (due_[row] > t + 1 && !inside(row, u * scales_[std::min(due_[row], steps_ + 1) - 1] + intercept_))
            schedule(t, row);
    }

    // The rows whose margins have left their intervals; all of them count as outside where there are no intervals.
    void find_outside(int64_t t) {
        if (!intervals_) return;
        if (calendar_) {
            for (int32_t row = first_[t]; row >= 0; row = next_[row]) outside_.push_back(row);
            return;
        }
        outside_.resize(n_ + 8);
        flags_.resize(n_ + 8);
        outside_.resize(outside_rows(margins_.data(), scales_[t], intercept_, lower_.data(), upper_.data(), n_,
                                     flags_.data(), outside_.data()));
        if (8 * static_cast<int64_t>(outside_.size()) > n_) intervals_ = false;  // so many that all are as quick
    }

    void look_at_all(int64_t t, double cap) {
        lower_.resize(n_);
        upper_.resize(n_);
        codes_at(t, &intercept_, cap);
        changed_.resize(n_);
        changed_.resize(moved_rows(fresh_.data(), codes_, n_, 1, tolerance_, changed_.data()));
        logistic_intervals(margins_.data(), scales_[t], intercept_, fresh_.data(), codes_, tolerance_, unit_, n_,
                           lower_.data(), upper_.data());
        intervals_ = true;
        looked_ = n_;
        outside_.clear();
    }

    void look_at_outside(int64_t t, double cap) {
        looked_ = static_cast<int64_t>(outside_.size());
        values_.resize(looked_);
        for (int64_t i = 0; i < looked_; ++i) values_[i] = margins_[outside_[i]] * scales_[t] + intercept_;
        probabilities_.resize(looked_);
        sigmoids(values_.data(), looked_, probabilities_.data());
        for (int64_t i = 0; i < looked_; ++i) {
            const int32_t row = outside_[i];
            const double margin = values_[i], q = probabilities_[i];
            fresh_[row] = as_code(q - targets_[row], unit_, cap);
            if (std::abs(fresh_[row] - codes_[row]) > tolerance_) changed_.push_back(row);
            const int64_t moved = still_moved(fresh_[row], codes_[row], tolerance_);
            lower_[row] = lower_end(margin, logistic_reach(room_for(tolerance_ + moved, unit_), q));
            upper_[row] = upper_end(margin, logistic_reach(room_for(tolerance_ - moved, unit_), q));
            if (calendar_) schedule(t, row);
        }
        outside_.clear();
    }

    // In nanoseconds, roughly: a sweep costs a half for each row, and more than one once they leave the cache; with a
    // calendar a touched row costs 6 and a row to be looked at 60, and opening it costs 40 for each row.
    // If it did not pay last time, wait longer before the next one.
    void choose_way(int64_t t) {
        const double sweep = static_cast<double>(n_) * (n_ < 100000 ? 0.5 : 1.2);
        const double calendar = 6.0 * static_cast<double>(touches_) + 60.0 * static_cast<double>(looked_);
        usual_ += (calendar - usual_) / 8.0;
        if (wait_ > 0) --wait_;
        if (calendar_ && usual_ > 2.0 * sweep) {
            calendar_ = false;
            wait_ = backoff_ = t - opened_ > 8 * backoff_ ? 8 : std::min<int64_t>(2 * backoff_, 256);
        } else if (!calendar_ && wait_ == 0 && 2.0 * usual_ < sweep && !columns_.dense()) {
            open_calendar(t);
        }
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
        opened_ = t;
        due_.assign(n_, steps_ + 1);
        next_.resize(n_);
        previous_.resize(n_);
        first_.assign(steps_ + 1, -1);
        for (int32_t row = 0; row < n_; ++row) schedule(t, row);
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

    void apply() {
        if (changed_.empty()) return;
        int64_t work = 0;
        for (const int32_t row : changed_) work += rows_.size(row);
        // Adding to sums here and there costs about twice as much an entry as summing columns from end to end.
        if (2 * work > columns_.stored()) {
            for (const int32_t row : changed_)
                std::copy_n(fresh_.data() + row * outputs_, outputs_, codes_ + row * outputs_);
            sum_all_columns();
            all_tops();
            return;
        }
        const bool in_bulk = rows_.dense() || 4 * work > p_;
        for (size_t i = 0; i < changed_.size(); ++i) {
            const int32_t row = changed_[i];
            if (i + 2 < changed_.size()) fetch_ahead(changed_[i + 2]);
            for (int64_t k = 0; k < outputs_; ++k) {
                const int64_t place = row * outputs_ + k;
                const int32_t change = fresh_[place] - codes_[place];
                codes_[place] = fresh_[place];
                if (change != 0) add_row(row, k, change, in_bulk);
            }
        }
        if (in_bulk)
            all_tops();
        else
            stale_tops();
    }

    // Rows that change lie anywhere: ask for the beginning of one while another is added.
    void fetch_ahead(int32_t row) const {
#if defined(__GNUC__)
        if (rows_.dense()) return;
        const int64_t start = rows_.ends[row], size = std::min<int64_t>(rows_.size(row), 64);
        for (int64_t i = 0; i < size; i += 16) {
            __builtin_prefetch(rows_.indices + start + i);
            __builtin_prefetch(rows_.values + start + i);
        }
#endif
    }

    void sum_all_columns() {
        by_feature_.resize(outputs_ * p_);
        column_sums(columns_, codes_, outputs_, 0, p_, p_, by_feature_.data());
        for (int64_t k = 0; k < outputs_; ++k)
            for (int64_t j = 0; j < p_; ++j) sums_[k * stride_ + j] = by_feature_[k * p_ + features_[j]];
    }

    void add_row(int32_t row, int64_t output, int32_t change, bool in_bulk) {
        const int64_t start = rows_.begin(row), size = rows_.size(row);
        int64_t* const sums = sums_ + output * stride_;
        const int32_t* const x = rows_.values + start;
        if (rows_.dense()) {
            dense_add(sums, x, change, size);
            return;
        }
        const int32_t* const places = rows_.indices + start;
        if (in_bulk) {
            for (int64_t i = 0; i < size; ++i) sums[places[i]] += static_cast<int64_t>(x[i]) * change;
            return;
        }
        int64_t* const tops = tops_ + output * (stride_ >> shift_);
        char* const stale = stale_.data() + output * (stride_ >> shift_);
        for (int64_t i = 0; i < size; ++i) {
            const int64_t before = sums[places[i]], after = before + static_cast<int64_t>(x[i]) * change;
            const int64_t b = places[i] >> shift_;
            sums[places[i]] = after;
            if (std::abs(after) >= tops[b]) {
                tops[b] = std::abs(after);
            } else if (std::abs(before) == tops[b] && !stale[b]) {
                stale[b] = 1;
                stale_blocks_.push_back(output * (stride_ >> shift_) + b);
            }
        }
    }

    void all_tops() {
        for (int64_t k = 0; k < outputs_; ++k)
            block_tops(sums_ + k * stride_, p_, block_, tops_ + k * (stride_ >> shift_));
    }

    void stale_tops() {
        for (const int64_t b : stale_blocks_) {
            const int64_t in_row = b % (stride_ >> shift_) << shift_;
            tops_[b] = largest_magnitude(sums_ + (b << shift_), std::min(block_, p_ - in_row));
            stale_[b] = 0;
        }
        stale_blocks_.clear();
    }

    Lines columns_, rows_;
    const int64_t* features_;
    int64_t n_, p_, outputs_;
    Loss loss_;
    double unit_;
    const double* targets_;
    const double* scales_;
    int64_t steps_, stride_, block_, shift_ = 0;  // a block is 2^shift places
    int32_t* codes_;
    int64_t* sums_;
    int64_t* tops_;
    std::vector<double> margins_;  // divided by the scale of the step
    std::vector<int32_t> fresh_, changed_;
    std::vector<char> stale_;
    std::vector<int64_t> stale_blocks_, by_feature_;

    bool intervals_ = false;
    int64_t tolerance_ = 0;
    double intercept_ = 0.0;
    std::vector<float> lower_, upper_;
    std::vector<double> values_, probabilities_;
    std::vector<char> flags_;
    std::vector<int32_t> outside_;

    bool calendar_ = false;
    int64_t touches_ = 0, looked_ = 0, opened_ = 0, wait_ = 0, backoff_ = 8;
    double usual_ = 1e12;  // what a step with a calendar has cost or would have cost of late
    std::vector<int64_t> due_;
    std::vector<int32_t> first_, next_, previous_;
};

}  // namespace hardzero
