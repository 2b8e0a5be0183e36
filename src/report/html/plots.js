// Time and efficiency against the payload; bars where there is one payload.

// Points with the same bound at the same payload belong in one plot.
function plotKey(point) {
  return wordsOf(point).filter(word => !/^(bytes|lowering|network|fold)=/.test(word)).join(" ");
}

const networkOf = point => point.network && point.network !== "fluid" ? " " + point.network : "";

function shortName(point) {
  const network = networkOf(point);
  if (point.request) {
    const asked = point.request.split(" ").find(word => word.startsWith("lowering="));
    if (asked === "lowering=auto") return "auto" + network;
    if (asked) return asked.slice(9) + network;
  }
  return (point.lowering || point.collective).split(":")[0] + network;
}

// One series per lowering; a second one of the same name at the same payload
// goes by its full text.
function seriesOf(points) {
  const series = new Map();
  const put = (name, point) => {
    if (!series.has(name)) series.set(name, new Map());
    const at = series.get(name);
    if (at.has(point.payload_bytes)) return false;
    at.set(point.payload_bytes, point);
    return true;
  };
  // What auto took may differ from payload to payload: still one series.
  const single = new Set(points.map(point => point.payload_bytes)).size === points.length;
  const mixed = single && !points[0].request && new Set(points.map(shortName)).size > 1;
  for (const point of points) {
    put(mixed ? "the lowering chosen" : shortName(point), point) || put(point.lowering + networkOf(point), point);
  }
  // The engine `bound` times nothing.
  return [...series].filter(([, at]) => [...at.values()].some(point => known(timeOf(point)))).map(([name, at], k) => ({name, at, k}));
}

const boundAt = (points, size) => {
  const found = points.find(point => point.payload_bytes === size && known(point.lower_bound_s));
  return found ? found.lower_bound_s : null;
};

// Mean rank over payloads, the best first; they and those that are the fastest
// somewhere begin switched on.
function rank(series, sizes) {
  const total = new Map(series.map(one => [one, 0]));
  for (const size of sizes) {
    const time = one => one.at.has(size) ? timeOf(one.at.get(size)) : Infinity;
    [...series].sort((a, b) => time(a) - time(b)).forEach((one, k) => total.set(one, total.get(one) + k));
  }
  series.sort((a, b) => total.get(a) - total.get(b));
  const fastest = new Set(sizes.map(size => series.filter(one => one.at.has(size)).sort((a, b) => timeOf(a.at.get(size)) - timeOf(b.at.get(size)))[0]));
  series.forEach((one, k) => { one.k = k; one.on = k < 8 || fastest.has(one); });
}

function lineSample(stroke, dashes, width) {
  return makeSvg("svg", {width: 26, height: 10, "aria-hidden": "true"},
    makeSvg("line", {x1: 0, y1: 5, x2: 26, y2: 5, stroke, "stroke-width": width, "stroke-dasharray": dashes.join(" ")}));
}

// One uPlot with a legend of buttons that also shows the values under the
// cursor. Arrow keys move the cursor.
class PayloadPlot {
  constructor(parent, points, sizes, series) {
    Object.assign(this, {parent, points, sizes, series, metric: "time", bound: true});
    this.host = make("div", {class: "plot", tabindex: "0", role: "img",
      "aria-label": "Plot against the payload; arrow keys move the cursor, the values appear below"});
    this.note = make("p", {class: "note", "aria-live": "polite"});
    this.legend = make("div", {class: "legend"});
    const tab = (metric, text) => make("button", {type: "button", "data-metric": metric,
      onclick: () => { this.metric = metric; this.draw(); }}, text);
    this.tabs = make("div", {class: "row tabs"}, tab("time", "Time"), tab("efficiency", "Efficiency"),
      make("button", {type: "button", onclick: () => this.switchAll(true)}, "Show all"),
      make("button", {type: "button", onclick: () => this.switchAll(false)}, "Show none"));
    parent.append(this.tabs, this.host, this.note, this.legend);
    this.host.addEventListener("keydown", event => this.key(event));
    new ResizeObserver(() => {
      if (this.plot && this.host.clientWidth > 0) this.plot.setSize({width: this.host.clientWidth, height: this.height()});
    }).observe(this.host);
    dark.addEventListener("change", () => this.draw());
    this.draw();
  }

  height() { return this.host.clientWidth < 500 ? 260 : 360; }

  switchAll(on) {
    for (const one of this.series) one.on = on;
    this.draw();
  }

  values(one) {
    return this.sizes.map(size => {
      const point = one.at.get(size);
      if (!point) return null;
      const value = this.metric === "time" ? timeOf(point) : point.efficiency;
      return known(value) && (value > 0 || this.metric !== "time") ? value : null;
    });
  }

  bounds() {
    if (this.metric !== "time") return this.sizes.map(() => 1);
    return this.sizes.map(size => boundAt(this.points, size) || null);
  }

  axes(text) {
    const common = {stroke: css("--text"), grid: {stroke: css("--line"), width: 1}, ticks: {stroke: css("--line")}};
    const show = this.metric === "time" ? seconds : percent;
    const most = Math.max(2, Math.floor(this.host.clientWidth / 80));
    const every = Math.ceil(this.sizes.length / most);
    const labelled = this.sizes.filter((_, k) => k % every === 0);
    return [
      {...common, label: "payload", splits: () => labelled, filter: (_, splits) => splits, values: (_, splits) => splits.map(bytes)},
      {...common, label: text, size: 78, values: (_, splits) => splits.map(value => known(value) ? show(value) : "")},
    ];
  }

  draw() {
    if (this.plot) this.plot.destroy();
    for (const button of this.tabs.querySelectorAll("[data-metric]")) {
      button.setAttribute("aria-pressed", String(button.dataset.metric === this.metric));
    }
    const isTime = this.metric === "time";
    this.lines = [
      {label: isTime ? "lower bound" : "lower bound (100 %)", stroke: css("--text"), dash: [4, 4], width: 2, show: this.bound, points: {show: false}},
      ...this.series.map(one => ({label: one.name, stroke: hue(one.k), dash: dash(one.k), width: 2, show: one.on, spanGaps: true,
        points: {show: true, size: 7, fill: hue(one.k), stroke: hue(one.k)}})),
    ];
    const data = [this.sizes, this.bounds(), ...this.series.map(one => this.values(one))];
    this.plot = new uPlot({
      width: this.host.clientWidth || 300,
      height: this.height(),
      legend: {show: false},
      cursor: {y: false, points: {size: 10}, drag: {x: false, y: false}},
      scales: {
        x: {time: false, distr: 3, log: 2},
        y: isTime ? {distr: 3, log: 10} : {range: [0, 1.05]},
      },
      axes: this.axes(isTime ? "time" : "efficiency (bound / time)"),
      series: [{}, ...this.lines],
      hooks: {setCursor: [plot => this.showValues(plot.cursor.idx)]},
    }, data, this.host);
    this.drawLegend(data);
  }

  drawLegend(data) {
    this.cells = [];
    this.legend.replaceChildren(...this.lines.map((line, k) => {
      const value = make("span", {class: "value"});
      this.cells.push({cell: value, row: data[k + 1]});
      return make("button", {type: "button", "aria-pressed": String(line.show), onclick: event => this.toggle(k, event.currentTarget)},
        lineSample(line.stroke, line.dash, 2.5), make("span", {class: "name"}, line.label), value);
    }));
    this.showValues(null);
  }

  toggle(k, button) {
    const on = !this.plot.series[k + 1].show;
    this.plot.setSeries(k + 1, {show: on});
    if (k === 0) this.bound = on;
    else this.series[k - 1].on = on;
    button.setAttribute("aria-pressed", String(on));
  }

  showValues(index) {
    if (!this.cells) return;
    this.index = known(index) ? index : this.sizes.length - 1;
    this.note.textContent = (known(index) ? "At " : "Largest payload: ") + bytes(this.sizes[this.index]) +
      (known(index) ? "" : " (point at the plot for others, or use the arrow keys)");
    const show = this.metric === "time" ? seconds : percent;
    for (const {cell, row} of this.cells) cell.textContent = show(row[this.index]);
  }

  key(event) {
    const step = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    if (!step) return;
    event.preventDefault();
    const index = Math.min(this.sizes.length - 1, Math.max(0, this.index + step));
    const left = this.plot.valToPos(this.sizes[index], "x");
    this.plot.setCursor({left, top: 10});
    this.showValues(index);
  }
}

// Times side by side, the bound as a mark.
function drawBars(parent, points) {
  const most = Math.max(...points.map(point => Math.max(timeOf(point) || 0, point.lower_bound_s || 0)), 1e-30);
  const bars = make("div", {class: "bars", role: "list"});
  const sorted = [...points].sort((a, b) => (timeOf(a) || Infinity) - (timeOf(b) || Infinity));
  for (const point of sorted) {
    const time = timeOf(point);
    const bar = make("div", {class: "bar", "aria-hidden": "true"});
    const fill = make("i");
    fill.style.width = `${100 * (time || 0) / most}%`;
    bar.append(fill);
    if (known(point.lower_bound_s)) {
      const mark = make("b");
      mark.style.left = `calc(${100 * point.lower_bound_s / most}% - 1px)`;
      bar.append(mark);
    }
    const text = known(time) ? `${seconds(time)}, ${percent(point.efficiency)}` : `bound ${seconds(point.lower_bound_s)}`;
    bars.append(make("span", {class: "name", title: point.lowering || ""}, point.request ? shortName(point) : point.lowering || "bound only"),
      bar, make("span", {class: "value"}, text));
  }
  parent.append(make("p", {class: "hint"}, `One payload only (${sizeText(points[0])}), so bars instead of a plot: time and ` +
    `efficiency; the mark is the lower bound, ${seconds(points[0].lower_bound_s)}.`), bars);
}

function drawPlot(parent, points) {
  parent.replaceChildren();
  const sizes = [...new Set(points.map(point => point.payload_bytes).filter(size => size > 0))].sort((a, b) => a - b);
  if (sizes.length < 2) {
    drawBars(parent, points);
    return;
  }
  const series = seriesOf(points);
  rank(series, sizes);
  new PayloadPlot(parent, points, sizes, series);
}

function plotSection() {
  const drawable = POINTS.filter(point => known(point.payload_bytes) && !point.error);
  if (drawable.length === 0) return;
  const plots = Map.groupBy ? Map.groupBy(drawable, plotKey) : drawable.reduce((map, point) => {
    const key = plotKey(point);
    return map.set(key, [...(map.get(key) || []), point]);
  }, new Map());
  const body = make("div");
  const node = section("Time and efficiency");
  if (plots.size > 1) {
    const choice = make("select", {id: "plot-choice", onchange: () => drawPlot(body, plots.get(choice.value))},
      ...[...plots.keys()].map(key => make("option", {value: key}, key)));
    node.append(make("div", {class: "row"}, make("label", {}, "Plot of", choice)));
  }
  node.append(body);
  drawPlot(body, plots.values().next().value);
}
