// A search without a server: the index is a script, fetched when somebody begins to search.
"use strict";
const root = document.body.dataset.root.replace(/\/?$/, "/");
const box = document.querySelector(".search input");
const list = document.querySelector(".found");
let loading = null;

function load() {
  loading ??= new Promise((done, failed) => {
    const script = document.createElement("script");
    Object.assign(script, { src: root + "search/index.js", onload: done, onerror: failed });
    document.head.append(script);
  });
  return loading;
}

// Every word must occur somewhere; words in titles count most.
function rank([, title, text], words) {
  const inTitle = title.toLowerCase(), inText = text.toLowerCase();
  let total = 0;
  for (const word of words) {
    const hits = inText.split(word).length - 1;
    if (inTitle.includes(word)) total += inTitle === word ? 200 : 50;
    else if (!hits) return 0;
    total += Math.min(hits, 10);
  }
  return total;
}

function excerpt(text, word) {
  const start = Math.max(0, text.toLowerCase().indexOf(word) - 50);
  return (start ? "… " : "") + text.slice(start, start + 140).trim() + " …";
}

function show(found, words) {
  list.replaceChildren(...found.map(([location, title, text]) => {
    const item = document.createElement("li"), link = document.createElement("a"), line = document.createElement("p");
    link.href = root + location;
    link.textContent = title;
    line.textContent = excerpt(text, words[0]);
    item.append(link, line);
    return item;
  }));
  if (!found.length) list.append(Object.assign(document.createElement("li"), { textContent: "Nothing found" }));
  list.hidden = false;
}

async function search() {
  const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) { list.hidden = true; return; }
  await load();
  const ranked = window.searchEntries.map(entry => [rank(entry, words), entry]).filter(([value]) => value);
  ranked.sort(([a], [b]) => b - a);
  show(ranked.slice(0, 12).map(([, entry]) => entry), words);
}

box.addEventListener("focus", load);
box.addEventListener("input", search);
box.form.addEventListener("submit", event => { event.preventDefault(); list.querySelector("a")?.click(); });
document.addEventListener("click", event => { if (!box.form.contains(event.target)) list.hidden = true; });
document.addEventListener("keydown", event => {
  if (event.key === "Escape") list.hidden = true;
  if (event.key === "/" && !/INPUT|TEXTAREA/.test(event.target.tagName)) { event.preventDefault(); box.focus(); }
});
document.querySelector(".pages [aria-current]")?.scrollIntoView({ block: "nearest" });
