"use strict";
const nearest = 10; // tokens in each list
const W = 640, H = 560, margin = 44;
const byId = (id) => document.getElementById(id);
const svgElement = (name, attributes) => {
  const e = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
  return e;
};
const n = data.tokens.length;
let model = data.models[0], shown = -1, chosen = 0; // shown: matrix that colours the map, -1 for modules

// Values of a matrix from bytes, two for each, decoded once.
const valuesOf = (m) => {
  if (!m.values) {
    const text = atob(m.bytes);
    m.values = Float32Array.from({ length: n * n },
      (_, i) => m.low + (m.high - m.low) * (text.charCodeAt(2 * i) + 256 * text.charCodeAt(2 * i + 1)) / 65535);
  }
  return m.values;
};
const rowOf = (m, i) => valuesOf(m).subarray(i * n, (i + 1) * n);
const columnOf = (m, j) => Float32Array.from({ length: n }, (_, i) => valuesOf(m)[i * n + j]);

// Places of the tokens in the drawing, both axes on one scale.
const placesOf = (map) => {
  const x = map.map((p) => p[0]), y = map.map((p) => p[1]);
  const [x0, x1, y0, y1] = [Math.min(...x), Math.max(...x), Math.min(...y), Math.max(...y)];
  const scale = Math.min((W - 2 * margin) / (x1 - x0 || 1), (H - 2 * margin) / (y1 - y0 || 1));
  return map.map(([a, b]) => [W / 2 + (a - (x0 + x1) / 2) * scale, H / 2 - (b - (y0 + y1) / 2) * scale]);
};

const option = (text, value) => new Option(text, value);
data.models.forEach((m, i) => byId("model").append(option(m.label, i)));
for (const t of data.tokens) byId("names").append(option(t.name, t.name));
for (const g of data.groups) {
  const entry = document.createElement("li"), mark = document.createElement("i");
  mark.style.background = g.color;
  entry.append(mark, g.name);
  byId("groups").append(entry);
}

let places = [], dots = [];
const drawModel = () => {
  // Over training: the frames, and at last the map itself.
  const frame = byId("frame");
  byId("course").hidden = !model.frames.length;
  frame.max = model.frames.length;
  frame.value = frame.max;
  byId("step").textContent = "at its end";
  const matrices = byId("matrix");
  matrices.replaceChildren(option(data.groups.length ? "modules" : "none", -1));
  model.matrices.forEach((m, i) => matrices.append(option(m.label + " of the chosen token", i)));
  if (shown >= model.matrices.length) shown = -1;
  matrices.value = shown;
  places = placesOf(model.map);
  const map = byId("map");
  const across = svgElement("text", { x: W / 2, y: H - 6, "text-anchor": "middle" });
  const up = svgElement("text", { transform: `translate(14 ${H / 2}) rotate(-90)`, "text-anchor": "middle" });
  across.textContent = model.axes[0];
  up.textContent = model.axes[1];
  const radius = Math.max(4, Math.min(9, 120 / Math.sqrt(n)));
  dots = places.map(([cx, cy], i) => {
    const dot = svgElement("circle", { cx, cy, r: radius });
    const title = svgElement("title", {});
    title.textContent = data.tokens[i].name;
    dot.append(title);
    dot.addEventListener("pointerenter", (e) => { if (e.pointerType === "mouse") choose(i); });
    dot.addEventListener("click", () => choose(i));
    return dot;
  });
  map.replaceChildren(across, up, ...dots);
};

const listOf = (title, values) => {
  const part = document.createElement("div"), head = document.createElement("h3"), list = document.createElement("ol");
  head.textContent = title;
  const order = [...values.keys()].filter((i) => i !== chosen).sort((a, b) => values[b] - values[a] || a - b);
  for (const i of order.slice(0, nearest)) {
    const entry = document.createElement("li"), button = document.createElement("button");
    const value = document.createElement("span");
    button.type = "button";
    value.textContent = values[i].toPrecision(2);
    button.append(data.tokens[i].name, value);
    button.addEventListener("click", () => choose(i));
    entry.append(button);
    list.append(entry);
  }
  part.append(head, list);
  return part;
};

const choose = (i) => {
  chosen = i;
  const token = data.tokens[i], group = data.groups[token.group];
  byId("chosen").textContent = token.name + (group ? ", " + group.name : "");
  byId("token").value = token.name;
  const lists = [];
  const near = model.matrices[0];
  let neighbours = [];
  if (near) {
    const values = rowOf(near, i);
    neighbours = [...values.keys()].filter((j) => j !== i).sort((a, b) => values[b] - values[a] || a - b).slice(0, nearest);
    lists.push(listOf(`Nearest by ${near.label}, ringed in the map`, values));
  }
  const m = model.matrices[shown > 0 ? shown : Math.min(1, model.matrices.length - 1)];
  if (m && m !== near) {
    lists.push(listOf(`${m.label}: ${m.from}`, rowOf(m, i)));
    if (m.to) lists.push(listOf(`${m.label}: ${m.to}`, columnOf(m, i)));
  }
  byId("lists").replaceChildren(...lists);
  // Colours: the modules, or the row of the matrix that is shown, from its least to its largest entry.
  const row = shown >= 0 ? rowOf(model.matrices[shown], i) : null;
  const others = row ? [...row].filter((_, j) => j !== i) : [];
  const low = Math.min(...others), high = Math.max(...others);
  dots.forEach((dot, j) => {
    dot.classList.toggle("chosen", j === i);
    dot.classList.toggle("near", neighbours.includes(j));
    const own = data.groups[data.tokens[j].group];
    if (!row) dot.style.fill = own ? own.color : "var(--dot)";
    else if (j === i) dot.style.fill = "var(--paper)";
    else dot.style.fill = `color-mix(in srgb, var(--high) ${Math.round(100 * (row[j] - low) / (high - low || 1))}%, var(--low))`;
  });
  const last = dots[i];
  if (last) last.parentNode.append(last); // on top of its neighbours
};

// The next token in a direction: the closest of those within 45 degrees of it.
const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
byId("map").addEventListener("keydown", (e) => {
  const step = steps[e.key];
  if (!step) return;
  e.preventDefault();
  let best = -1, least = Infinity;
  places.forEach(([x, y], j) => {
    const dx = x - places[chosen][0], dy = y - places[chosen][1];
    const along = dx * step[0] + dy * step[1], off = Math.abs(dx * step[1]) + Math.abs(dy * step[0]);
    const far = Math.hypot(dx, dy);
    if (j !== chosen && along > 0 && off <= along + 1e-9 && far < least) [best, least] = [j, far];
  });
  if (best >= 0) choose(best);
});
byId("frame").addEventListener("input", (e) => {
  const f = model.frames[e.target.value];
  byId("step").textContent = f ? `step ${f.step}` : "at its end";
  places = placesOf(f ? f.map : model.map);
  dots.forEach((dot, i) => {
    dot.setAttribute("cx", places[i][0]);
    dot.setAttribute("cy", places[i][1]);
  });
});
byId("model").addEventListener("change", (e) => {
  model = data.models[e.target.value];
  drawModel();
  choose(chosen);
});
byId("matrix").addEventListener("change", (e) => {
  shown = +e.target.value;
  choose(chosen);
});
byId("token").addEventListener("change", (e) => {
  const text = e.target.value.trim().toLowerCase();
  let i = data.tokens.findIndex((t) => t.name.toLowerCase() === text);
  if (i < 0 && text) i = data.tokens.findIndex((t) => t.name.toLowerCase().includes(text));
  choose(i < 0 ? chosen : i);
});
document.querySelector("form").addEventListener("submit", (e) => e.preventDefault());
drawModel();
choose(0);
