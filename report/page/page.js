"use strict";
// The contents lie open beside a wide page and are closed above a narrow one.
const contents = document.querySelector("nav details");
if (contents) {
  const narrow = matchMedia("(max-width: 60rem)");
  const fit = () => { contents.open = !narrow.matches; };
  narrow.addEventListener("change", fit);
  fit();
  contents.addEventListener("click", (e) => {
    if (narrow.matches && e.target.closest("a")) contents.open = false;
  });
  addEventListener("beforeprint", () => { contents.open = true; });
}

// A table or figure that goes on beyond its edge says so.
const tell = () => {
  for (const part of document.querySelectorAll(".scroll, .plate")) {
    part.classList.toggle("overflows", part.scrollWidth > part.clientWidth);
  }
};
addEventListener("resize", tell);
tell();

// The entry of the part that is being read is marked.
if (contents && "IntersectionObserver" in window) {
  const entries = new Map();
  for (const a of contents.querySelectorAll("a")) entries.set(decodeURIComponent(a.hash.slice(1)), a);
  const seen = new Set();
  const watch = new IntersectionObserver((changes) => {
    for (const c of changes) {
      if (c.isIntersecting) seen.add(c.target.id);
      else seen.delete(c.target.id);
    }
    let current = null;
    for (const [id, a] of entries) {
      a.removeAttribute("aria-current");
      if (seen.has(id)) current = a;
    }
    if (current) current.setAttribute("aria-current", "location");
  }, { rootMargin: "-25% 0px -70% 0px" });
  for (const id of entries.keys()) watch.observe(document.getElementById(id));
}

// Copy a command: by the clipboard's own interface where the browser grants it, else by selecting the text.
const copyBySelection = (text) => {
  const area = document.createElement("textarea");
  area.value = text;
  area.setAttribute("readonly", "");
  area.className = "offscreen";
  document.body.append(area);
  area.select();
  let done = false;
  try { done = document.execCommand("copy"); } catch { done = false; }
  area.remove();
  return done;
};
for (const button of document.querySelectorAll("button.copy")) {
  const code = button.parentElement.querySelector("code");
  let back = 0;
  const say = (done) => {
    button.textContent = done ? "Copied" : "Select and copy";
    if (!done) getSelection().selectAllChildren(code);
    clearTimeout(back);
    back = setTimeout(() => { button.textContent = "Copy"; }, 2000);
  };
  button.hidden = false;
  button.addEventListener("click", async () => {
    const text = code.textContent;
    try {
      await navigator.clipboard.writeText(text);
      say(true);
    } catch {
      say(copyBySelection(text));
    }
    button.focus();
  });
}
