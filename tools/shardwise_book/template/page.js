// What a page does beyond being read. A classic script, so that it also runs from a file on disk.
(function () {
  "use strict";

  const root = new URL(document.body.dataset.root || ".", location.href);
  const main = document.getElementById("sw-main");
  const html = document.documentElement;

  /** Read or write a setting; a browser may refuse both. */
  function recall(key) {
    try { return localStorage.getItem(key); } catch { return null; }
  }
  function remember(key, value) {
    try { localStorage.setItem(key, value); } catch { /* the page works, it only forgets */ }
  }

  function announce(text) {
    const box = document.getElementById("sw-announce");
    box.textContent = "";
    setTimeout(() => { box.textContent = text; }, 50);
  }

  // Theme: automatic, light, dark, and round again.
  const THEMES = ["auto", "light", "dark"];
  const NAMES = { auto: "as the system", light: "light", dark: "dark" };
  const systemDark = matchMedia("(prefers-color-scheme: dark)");
  const themeButton = document.querySelector(".theme-toggle");

  function paint(dark) {
    document.body.classList.toggle("quarto-dark", dark);
    document.body.classList.toggle("quarto-light", !dark);
  }
  function applyTheme() {
    const choice = html.dataset.theme;
    paint(choice === "dark" || (choice === "auto" && systemDark.matches));
    const following = THEMES[(THEMES.indexOf(choice) + 1) % THEMES.length];
    const label = `Colour theme: ${NAMES[choice]}. Change to ${NAMES[following]}`;
    themeButton.setAttribute("aria-label", label);
    themeButton.title = label;
    return following;
  }
  themeButton.addEventListener("click", () => {
    html.dataset.theme = applyTheme();
    remember("shardwise-theme", html.dataset.theme);
    applyTheme();
    announce(`Colour theme: ${NAMES[html.dataset.theme]}`);
  });
  systemDark.addEventListener("change", applyTheme);
  // Another tab of the book changed it.
  addEventListener("storage", (event) => {
    if (event.key === "shardwise-theme" && THEMES.includes(event.newValue)) {
      html.dataset.theme = event.newValue;
      applyTheme();
    }
  });
  if (!THEMES.includes(html.dataset.theme)) html.dataset.theme = "auto";
  applyTheme();

  // Paper is white, and nobody can open what is folded on it.
  addEventListener("beforeprint", () => {
    paint(false);
    for (const box of main.querySelectorAll("details.callout:not([open])")) {
      box.open = true;
      box.dataset.opened = "";
    }
  });
  addEventListener("afterprint", () => {
    applyTheme();
    for (const box of main.querySelectorAll("details[data-opened]")) {
      box.open = false;
      delete box.dataset.opened;
    }
  });

  // Chapters and contents are behind a button where there is no room beside the text.
  const menuButton = document.querySelector(".menu-toggle");
  function openMenu(open) {
    html.classList.toggle("menu-open", open);
    menuButton.setAttribute("aria-expanded", String(open));
  }
  menuButton.addEventListener("click", () => openMenu(!html.classList.contains("menu-open")));
  document.querySelector(".toc")?.addEventListener("click", (event) => {
    if (event.target.closest("a")) openMenu(false);
  });
  document.querySelector(".side").addEventListener("keydown", (event) => {
    if (event.key === "Escape" && html.classList.contains("menu-open")) {
      openMenu(false);
      menuButton.focus();
    }
  });

  // The section being read is marked in the contents of the page.
  const links = new Map();
  for (const link of document.querySelectorAll(".toc a")) {
    const target = document.getElementById(decodeURIComponent(link.hash.slice(1)));
    if (target) links.set(target, link);
  }
  let atEnd = false; // where the last section may be too short to ever reach the top
  function markSection() {
    let current = null;
    for (const target of links.keys()) {
      if (atEnd || target.getBoundingClientRect().top <= innerHeight * 0.3) current = target;
    }
    for (const [target, link] of links) {
      if (target === current) link.setAttribute("aria-current", "location");
      else link.removeAttribute("aria-current");
    }
  }
  const sections = new IntersectionObserver(markSection, { rootMargin: "0px 0px -70% 0px" });
  for (const target of links.keys()) sections.observe(target);

  new IntersectionObserver((entries) => {
    atEnd = entries.at(-1).isIntersecting && scrollY > 0;
    markSection();
  }).observe(document.querySelector(".colophon"));

  // Copy buttons. The widgets' copy.js does the same: a page need not hold a widget, nor a widget be in a page.
  async function copy(text) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      return copySelected(text); // no permission, or no secure context
    }
  }
  function copySelected(text) {
    const focused = document.activeElement;
    const area = document.createElement("textarea");
    area.value = text;
    area.style.position = "fixed"; // or the page would scroll to it
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    if (focused instanceof HTMLElement) focused.focus();
    return done;
  }
  const ICONS = {
    copy: "M7 7h9v9H7zM4 13V4h9",
    done: "M4 10.5l4 4 8-9",
  };
  function draw(button, icon) {
    button.innerHTML = `<svg class="icon" viewBox="0 0 20 20" aria-hidden="true"><path d="${ICONS[icon]}"/></svg>`;
  }
  for (const pre of main.querySelectorAll("pre")) {
    if (!pre.querySelector("code") || pre.closest(".cell-output, .shardwise-widget")) continue;
    let box = pre.parentElement;
    if (!box.matches("div.sourceCode")) {
      box = document.createElement("div");
      box.className = "code-box";
      pre.replaceWith(box);
      box.append(pre);
    }
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy-code";
    button.title = "Copy the code";
    button.setAttribute("aria-label", "Copy the code");
    draw(button, "copy");
    button.addEventListener("click", async () => {
      const done = await copy(pre.textContent.replace(/\n$/, ""));
      announce(done ? "Code copied" : "The browser did not allow copying");
      if (!done) return;
      draw(button, "done");
      setTimeout(() => draw(button, "copy"), 2000);
      button.focus();
    });
    box.append(button);
  }

  // What is too wide scrolls in its own box, and that box can be reached by keyboard.
  for (const table of main.querySelectorAll("table")) {
    if (getComputedStyle(table.parentElement).overflowX === "auto") continue;
    const box = document.createElement("div");
    box.className = "table-scroll";
    table.replaceWith(box);
    box.append(table);
  }
  function nameOf(box) {
    if (box.matches("pre")) return box.closest(".cell-output") ? "Output" : "Code";
    if (box.querySelector("table")) return "Table";
    return box.querySelector("math") ? "Equation" : "Figure";
  }
  const boxes = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      const wide = target.scrollWidth > target.clientWidth + 1;
      if (wide) {
        target.tabIndex = 0;
        target.setAttribute("role", "group");
        target.setAttribute("aria-label", `${nameOf(target)}, scrolls sideways`);
      } else if (target.getAttribute("role") === "group") {
        for (const name of ["tabindex", "role", "aria-label"]) target.removeAttribute(name);
      }
    }
  });
  for (const inner of main.querySelectorAll("pre, table, math[display=block], .cell-output-display > svg")) {
    const box = inner.matches("pre") ? inner : inner.parentElement;
    if (getComputedStyle(box).overflowX === "auto") boxes.observe(box);
  }

  // Search. Nothing is loaded until the box is used.
  const form = document.querySelector(".search");
  const input = document.getElementById("sw-search-box");
  const panel = document.getElementById("sw-search-panel");
  const status = panel.querySelector(".search-status");
  const list = panel.querySelector(".search-results");
  const FROM_DISK = "Search needs a web server: from a file on disk the browser may not read the index. "
    + "Run “make serve” in the project’s folder and open the address that it prints.";
  const BROKEN = "The search index could not be loaded. Build the book again: “make book”.";
  let engine = null;
  let asked = 0;

  function say(text) {
    list.replaceChildren();
    status.textContent = text;
    panel.hidden = false;
  }
  function loadEngine() {
    engine ??= import(new URL("pagefind/pagefind.js", root).href).then(async (pagefind) => {
      await pagefind.options({ baseUrl: root.pathname, excerptLength: 16 });
      await pagefind.init();
      return pagefind;
    });
    return engine;
  }
  function entry(page, part) {
    const item = document.createElement("li");
    const link = document.createElement("a");
    link.href = part.url;
    const title = document.createElement("strong");
    title.textContent = page.meta.title === part.title ? part.title : `${page.meta.title}: ${part.title}`;
    const excerpt = document.createElement("span");
    excerpt.innerHTML = part.excerpt; // escaped by the index; only <mark> is left
    link.append(title, excerpt);
    item.append(link);
    return item;
  }
  // For a word that is nowhere, the index offers what its first letters match: too far is no answer.
  function isNear(part, terms) {
    const marked = [...part.excerpt.matchAll(/<mark>(.*?)<\/mark>/gs)].map((match) => match[1].toLowerCase());
    return terms.some((term) => {
      const stem = term.slice(0, Math.max(3, Math.ceil(term.length / 2)));
      return marked.some((word) => word.includes(stem));
    });
  }
  async function search() {
    if (location.protocol === "file:") return say(FROM_DISK);
    const query = input.value.trim();
    const turn = ++asked;
    try {
      const pagefind = await loadEngine();
      if (turn !== asked) return undefined;
      if (!query) { panel.hidden = true; return undefined; }
      const found = await pagefind.search(query);
      const pages = await Promise.all(found.results.slice(0, 6).map((result) => result.data()));
      if (turn !== asked) return undefined;
      const terms = query.toLowerCase().match(/[\p{L}\p{N}_.@]+/gu) || [];
      const items = pages.flatMap((page) => page.sub_results
        .filter((part) => isNear(part, terms)).slice(0, 3).map((part) => entry(page, part)));
      say(items.length === 0 ? `Nothing found for “${query}”.` : `${items.length} place${items.length === 1 ? "" : "s"} found`);
      list.replaceChildren(...items);
    } catch {
      engine = null;
      say(BROKEN);
    }
    return undefined;
  }
  let pause = 0;
  input.addEventListener("input", () => {
    clearTimeout(pause);
    pause = setTimeout(search, 120);
  });
  input.addEventListener("focus", search);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    list.querySelector("a")?.click();
  });
  form.addEventListener("focusout", (event) => {
    if (!form.contains(event.relatedTarget)) panel.hidden = true;
  });
  form.addEventListener("keydown", (event) => {
    const stops = [input, ...list.querySelectorAll("a")];
    const here = stops.indexOf(document.activeElement);
    const next = { ArrowDown: here + 1, ArrowUp: here - 1 }[event.key];
    if (event.key === "Escape" && !panel.hidden) {
      event.stopPropagation();
      input.value = "";
      input.focus();
      asked += 1;
      panel.hidden = true;
    } else if (next !== undefined) {
      event.preventDefault();
      stops[Math.min(Math.max(next, 0), stops.length - 1)].focus();
    }
  });
  list.addEventListener("click", (event) => {
    if (!event.target.closest("a")) return;
    panel.hidden = true;
    openMenu(false);
  });
  // A click on the panel's own edge must not take the focus away and close it.
  panel.addEventListener("mousedown", (event) => {
    if (!event.target.closest("a")) event.preventDefault();
  });
  addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    openMenu(true);
    input.focus();
  });
  if (/Mac|iP(hone|ad)/.test(navigator.platform)) form.querySelector("kbd").textContent = "⌘ K";
})();
