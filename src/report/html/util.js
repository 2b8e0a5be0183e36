// Elements, numbers and colours.
const DATA = JSON.parse(document.getElementById("data").textContent);
const POINTS = DATA.result.points;

// make("td", {class: "num"}, "text", child, ..): text is never parsed as HTML.
function make(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined) node.setAttribute(key, value);
  }
  node.append(...children);
  return node;
}

function makeSvg(tag, attributes, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

function section(title, ...children) {
  const id = title.toLowerCase().replace(/[^a-z]+/g, "-");
  const node = make("section", {id, "aria-labelledby": id + "-title"},
    make("h2", {id: id + "-title"}, title), ...children);
  document.getElementById("main").append(node);
  return node;
}

const known = value => value !== null && value !== undefined;

// Four significant digits, without trailing zeros.
const digits = value => String(Number(value.toPrecision(4)));

function scaled(value, units) {
  if (!known(value)) return "-";
  if (value === 0) return "0";
  const [size, unit] = units.find(([least]) => Math.abs(value) >= least) || units[units.length - 1];
  return digits(value / size) + " " + unit;
}
const seconds = value => scaled(value, [[1, "s"], [1e-3, "ms"], [1e-6, "\u00b5s"], [1e-9, "ns"], [1e-12, "ps"]]);
const rate = value => scaled(value, [[1e12, "TB/s"], [1e9, "GB/s"], [1e6, "MB/s"], [1, "B/s"]]);
const bytes = value => scaled(value, [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"], [1, "B"]]);
const percent = value => known(value) ? digits(value * 100) + " %" : "-";
const count = value => known(value) ? value.toLocaleString("en-US") : "-";

const dark = matchMedia("(prefers-color-scheme: dark)");
const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// Colours that the colour-blind tell apart (Okabe and Ito, "Color universal
// design", 2008), two of them darker or lighter to stand out from the page;
// then the same ones dashed.
const HUES = {
  light: ["#0072b2", "#c44e00", "#007d5c", "#a8457f", "#8a6d00", "#6a51c9", "#444444"],
  dark: ["#56b4e9", "#ff8c42", "#2fd0a0", "#e79ac6", "#f0e442", "#b59cff", "#cccccc"],
};
const DASHES = [[], [7, 4], [2, 3], [10, 3, 2, 3]];
const hue = k => HUES[dark.matches ? "dark" : "light"][k % 7];
const dash = k => DASHES[Math.floor(k / 7) % DASHES.length];

// Viridis, from 0 to 1 (van der Walt and Smith, 2015); on a light page from
// light to dark, so that what is much used always stands out.
const VIRIDIS = [[68, 1, 84], [72, 40, 120], [62, 74, 137], [49, 104, 142], [38, 130, 142],
  [31, 158, 137], [53, 183, 121], [109, 205, 89], [180, 222, 44], [253, 231, 37]];
function shade(part) {
  const clamped = Math.min(1, Math.max(0, part));
  const at = (dark.matches ? clamped : 1 - clamped) * (VIRIDIS.length - 1);
  const low = Math.min(Math.floor(at), VIRIDIS.length - 2);
  const mixed = VIRIDIS[low].map((c, k) => Math.round(c + (VIRIDIS[low + 1][k] - c) * (at - low)));
  return `rgb(${mixed.join(",")})`;
}

const timeOf = point => known(point.time_s) ? point.time_s : point.makespan_s;
const sizeText = point => known(point.payload_bytes) ? bytes(point.payload_bytes) : "";

// The words of a point that say what it is; for sweeps those of its request.
function wordsOf(point) {
  if (point.request) return point.request.split(" ");
  return [point.collective || point.name || "step", "slice=" + point.slice, "group=" + point.group];
}
