// What one chip did when.
const ROW = 24, TOP = 22;
const KIND_HUES = {"compute": 0, "collective": 1, "wait": 6, "async collective": 3, "transfer": 2};

class Timeline {
  constructor(parent, timeline) {
    Object.assign(this, {timeline, zoom: 1, at: -1});
    this.total = Math.max(...timeline.events.map(([, , , begin, length]) => begin + length), 1e-12);
    this.rows = [...new Set(timeline.events.map(event => event[0]))].sort((a, b) => a - b);
    const button = (text, factor) => make("button", {type: "button", onclick: () => { this.zoom = Math.min(64, Math.max(1, this.zoom * factor)); this.draw(); }}, text);
    this.note = make("p", {class: "note", "aria-live": "polite"}, "Point at a bar, or select the timeline and use the arrow keys.");
    this.scroll = make("div", {class: "scroll time"});
    parent.append(make("div", {class: "row"}, button("Zoom in", 2), button("Zoom out", 0.5), ...this.legend()), this.note, this.scroll);
    new ResizeObserver(() => { if (this.scroll.clientWidth !== this.drawn) this.draw(); }).observe(this.scroll);
    this.draw();
  }

  colour(kind) { return hue(KIND_HUES[this.timeline.kinds[kind]] || 0); }

  legend() {
    return this.timeline.kinds.map((kind, k) => {
      const swatch = make("span", {class: "swatch", "aria-hidden": "true"});
      swatch.style.background = this.colour(k);
      return make("span", {}, swatch, kind);
    });
  }

  draw() {
    this.drawn = this.scroll.clientWidth;
    const width = Math.max(280, this.drawn) * this.zoom - 4;
    const height = TOP + this.rows.length * 2 * ROW;
    const svg = makeSvg("svg", {width, height, tabindex: "0", role: "img", "aria-label": "Timeline; arrow keys visit the bars"});
    const x = time => time / this.total * width;
    const ticks = Math.max(2, Math.floor(width / 130));
    for (let k = 0; k <= ticks; ++k) {
      const at = width * k / ticks;
      svg.append(makeSvg("line", {class: "tick", x1: at, x2: at, y1: TOP - 4, y2: height}));
      svg.append(makeSvg("text", {x: k === ticks ? at - 2 : at + 2, y: 13, "text-anchor": k === ticks ? "end" : "start"},
        seconds(this.total * k / ticks * 1e-6)));
    }
    this.rows.forEach((thread, row) => {
      svg.append(makeSvg("text", {x: 2, y: TOP + row * 2 * ROW + 15}, this.timeline.threads[thread]));
    });
    this.bars = this.timeline.events.map(([thread, , kind, begin, length], k) => {
      const bar = makeSvg("rect", {x: x(begin), y: TOP + (this.rows.indexOf(thread) * 2 + 1) * ROW - 4, width: Math.max(0.6, x(length) - 0.4), height: ROW - 4,
        fill: this.colour(kind), "data-event": k});
      svg.append(bar);
      return bar;
    });
    svg.addEventListener("mouseover", event => { if (known(event.target.dataset.event)) this.show(Number(event.target.dataset.event)); });
    svg.addEventListener("keydown", event => this.key(event));
    this.scroll.replaceChildren(svg);
  }

  show(k) {
    if (this.at >= 0) this.bars[this.at].classList.remove("at");
    this.at = k;
    this.bars[k].classList.add("at");
    const [thread, name, kind, begin, length, joined] = this.timeline.events[k];
    this.note.textContent = `${this.timeline.threads[thread]}: ${this.timeline.names[name]}${joined > 1 ? ` and ${joined - 1} more` : ""} ` +
      `(${this.timeline.kinds[kind]}), from ${seconds(begin * 1e-6)}, ${seconds(length * 1e-6)} long`;
  }

  key(event) {
    const events = this.timeline.events;
    const last = events.length - 1;
    let to = {ArrowLeft: this.at - 1, ArrowRight: this.at + 1}[event.key];
    if (event.key === "ArrowDown") to = events.findIndex(one => this.at < 0 || one[0] > events[this.at][0]);
    if (event.key === "ArrowUp" && this.at >= 0) to = events.findIndex(one => one[0] === this.rows[Math.max(0, this.rows.indexOf(events[this.at][0]) - 1)]);
    if (!known(to)) return;
    event.preventDefault();
    if (to < 0 || to > last) return;
    this.show(to);
    const at = Number(this.bars[to].getAttribute("x"));
    if (at < this.scroll.scrollLeft || at > this.scroll.scrollLeft + this.scroll.clientWidth - 20) this.scroll.scrollLeft = at - 40;
  }
}

function timelineSection() {
  const timeline = DATA.timeline;
  if (!timeline) return;
  const point = POINTS[POINTS.length - 1];
  const node = section("Timeline of the busiest chip");
  const of = [point.collective || point.name || "the step", sizeText(point), point.lowering].filter(Boolean).join(", ");
  node.append(make("p", {class: "hint"}, `Chip ${timeline.chip}, the first of those that send the most bytes: ${of}.`));
  if (timeline.why) {
    node.append(make("p", {}, timeline.why));
    return;
  }
  if (timeline.shorter_than_us > 0) {
    node.append(make("p", {class: "hint"}, `Neighbours shorter than ${seconds(timeline.shorter_than_us * 1e-6)} are drawn as one; a trace (--trace) has all of them.`));
  }
  const body = make("div");
  node.append(body);
  const draw = () => { body.replaceChildren(); new Timeline(body, timeline); };
  draw();
  dark.addEventListener("change", draw);
}
