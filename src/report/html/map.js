// The chips of a slice and how busy their links are, plane by plane.
const STEP = 46, BOX = 20, EDGE = 40;
const MOST_CHIPS_DRAWN = 512;
const LETTERS = "xyz";

// What each link of the slice carried, by its name; folded, that of its class.
function useOfLinks(map, point) {
  const uses = new Map(map.links.map(([link, carried, busy, utilisation, links]) => [link, {carried, busy, utilisation, links}]));
  const periods = point.fold;
  return (at, direction) => {
    const site = periods ? at.map((c, axis) => c % periods[axis]) : at;
    return uses.get(site.join(",") + ":" + direction);
  };
}

function chipsOf(sizes) {
  const total = sizes.reduce((a, b) => a * b, 1);
  return Array.from({length: total}, (_, id) => {
    let rest = id;
    return sizes.map(size => { const c = rest % size; rest = Math.floor(rest / size); return c; });
  });
}

class SliceMap {
  constructor(parent, slice, map, point) {
    Object.assign(this, {slice, use: useOfLinks(map, point)});
    this.chips = chipsOf(slice.sizes);
    this.note = make("p", {class: "note", "aria-live": "polite"}, "Point at a link or chip, or select a plane and use the arrow keys.");
    this.planes = make("div", {class: "planes"});
    parent.append(this.note, this.planes);
    const width = slice.sizes[0], height = slice.ici_axes > 1 ? slice.sizes[1] : 1;
    this.perPlane = width * height;
    Object.assign(this, {width, height});
    // Of planes that are alike, the first.
    this.firsts = this.chips.map((_, id) => id).filter(id => id % this.perPlane === 0 &&
      this.chips[id].every((c, axis) => axis < 2 || !point.fold || c < point.fold[axis]));
    this.count = this.firsts.length;
    this.shown = 0;
    this.more = make("button", {type: "button", onclick: () => this.showMore()});
    parent.append(this.more);
    this.showMore();
  }

  showMore() {
    const batch = Math.max(1, Math.floor(MOST_CHIPS_DRAWN / this.perPlane));
    const until = Math.min(this.count, this.shown + batch);
    for (; this.shown < until; ++this.shown) this.planes.append(this.plane(this.shown));
    const left = this.count - this.shown;
    this.more.hidden = left === 0;
    this.more.textContent = `Show ${Math.min(left, batch)} of ${left} more planes`;
  }

  title(chip) {
    return this.slice.axes.slice(2).map((axis, k) => `${axis} = ${chip[k + 2]}`).join(", ");
  }

  directions() {
    return [...LETTERS.slice(0, this.slice.ici_axes)].flatMap(axis => [axis + "+", axis + "-"]);
  }

  alive(id, direction) {
    const bit = this.directions().indexOf(direction);
    return (this.slice.live.charCodeAt(id) - 48) >> bit & 1;
  }

  text(id, direction) {
    const use = this.use(this.chips[id], direction);
    const name = `${this.chips[id].join(",")}:${direction}`;
    if (!this.alive(id, direction)) return `${name} is not there`;
    if (!use) return `${name} unused`;
    return `${name} ${percent(use.utilisation)} (${bytes(use.carried)}, busy ${seconds(use.busy)}` +
      (use.links > 1 ? `, stands for ${use.links} links)` : ")");
  }

  colour(id, direction) {
    const use = this.use(this.chips[id], direction);
    return use ? shade(use.utilisation) : css("--line");
  }

  plane(index) {
    const first = this.firsts[index];
    const size = [2 * EDGE + (this.width - 1) * STEP, 2 * EDGE + (this.height - 1) * STEP];
    const svg = makeSvg("svg", {width: size[0], height: size[1], tabindex: "0", role: "img",
      "aria-label": `Links of the chips ${this.title(this.chips[first]) || "of the slice"}; arrow keys visit the chips`});
    for (let k = 0; k < this.perPlane; ++k) this.drawLinks(svg, first + k);
    const boxes = [];
    for (let k = 0; k < this.perPlane; ++k) boxes.push(this.drawChip(svg, first + k));
    let at = -1;
    const visit = to => {
      if (at >= 0) boxes[at].classList.remove("at");
      at = to;
      boxes[at].classList.add("at");
      this.show(first + at);
    };
    svg.addEventListener("keydown", event => {
      const move = {ArrowLeft: -1, ArrowRight: 1, ArrowUp: this.width, ArrowDown: -this.width}[event.key];
      if (!move) return;
      event.preventDefault();
      if (at < 0) visit(0);
      else if (at + move >= 0 && at + move < this.perPlane) visit(at + move);
    });
    svg.addEventListener("mouseover", event => {
      const {chip, direction} = event.target.dataset;
      if (known(direction)) this.note.textContent = this.text(Number(chip), direction);
      else if (known(chip)) this.show(Number(chip));
    });
    return make("figure", {}, make("figcaption", {}, this.title(this.chips[first])), svg);
  }

  show(id) {
    const parts = this.directions().filter(direction => this.alive(id, direction)).map(direction => this.text(id, direction));
    this.note.textContent = `Chip ${this.chips[id].join(",")}: ` + (parts.join("; ") || "no links");
  }

  // y grows upwards.
  centre(id) {
    const [x, y] = this.chips[id];
    const row = this.height > 1 ? y : 0;
    return [EDGE + x * STEP, EDGE + (this.height - 1 - row) * STEP];
  }

  // The two directions of a cable side by side; those that wrap end outside.
  drawLinks(svg, id) {
    const [cx, cy] = this.centre(id);
    const [x, y] = this.chips[id];
    const lines = {
      "x+": [1, 0, x === this.width - 1], "x-": [-1, 0, x === 0],
      "y+": [0, -1, y === this.height - 1], "y-": [0, 1, y === 0],
    };
    for (const direction of this.directions().slice(0, 4)) {
      if (!this.alive(id, direction)) continue;
      const [dx, dy, wraps] = lines[direction];
      const from = BOX / 2, to = wraps ? EDGE - 12 : STEP - BOX / 2;
      const side = 4;
      const ox = -dy * side, oy = dx * side;
      const begin = [cx + dx * from + ox, cy + dy * from + oy], end = [cx + dx * to + ox, cy + dy * to + oy];
      svg.append(makeSvg("rect", {x: Math.min(begin[0], end[0]) - (dx ? 0 : 3), y: Math.min(begin[1], end[1]) - (dy ? 0 : 3),
        width: dx ? to - from : 6, height: dy ? to - from : 6, fill: this.colour(id, direction), "data-chip": id, "data-direction": direction}));
    }
  }

  drawChip(svg, id) {
    const [cx, cy] = this.centre(id);
    const box = makeSvg("rect", {x: cx - BOX / 2, y: cy - BOX / 2, width: BOX, height: BOX, rx: 3, "data-chip": id, class: "chip"});
    svg.append(box);
    if (this.directions().every(direction => !this.alive(id, direction))) box.classList.add("dead");
    if (this.slice.ici_axes < 3) return box;
    [["z-", -BOX / 2 + 2], ["z+", 1]].forEach(([direction, offset]) => {
      if (!this.alive(id, direction)) return;
      svg.append(makeSvg("rect", {x: cx + offset, y: cy - BOX / 2 + 3, width: BOX / 2 - 3, height: BOX - 6,
        fill: this.colour(id, direction), "data-chip": id, "data-direction": direction}));
    });
    return box;
  }
}

function scaleLegend() {
  const stops = Array.from({length: 11}, (_, k) => shade(k / 10)).join(",");
  const ramp = make("span", {class: "ramp", "aria-hidden": "true"});
  ramp.style.background = `linear-gradient(to right, ${stops})`;
  const unused = make("span", {class: "swatch", "aria-hidden": "true"});
  unused.style.background = css("--line");
  return make("div", {class: "row"},
    make("div", {class: "scale"}, "0\u00a0%", ramp, "100 % of the link's rate over the whole time"),
    make("div", {class: "scale"}, unused, "unused"));
}

function drawMap(parent, map) {
  parent.replaceChildren();
  const point = POINTS[map.point];
  const slice = DATA.slice;
  if (slice && slice.sizes) {
    parent.append(scaleLegend());
    if (slice.ici_axes > 2) parent.append(make("p", {class: "hint"}, "Inside a chip: its links z- (left) and z+ (right). Along x and y the link to the right of its way is that of the chip it leaves; links that wrap end outside."));
    else parent.append(make("p", {class: "hint"}, "Two links per cable: the one on the right of its way is that of the chip it leaves; links that wrap end outside."));
    if (point.fold) parent.append(make("p", {class: "hint"}, `Simulated folded: chips whose coordinates agree modulo ${point.fold.join(",")} do the same; planes that are alike are drawn once.`));
    if (map.links.some(([link]) => link.includes(":dcn"))) parent.append(make("p", {class: "hint"}, "The NICs of the hosts, dcn+ (out) and dcn- (in), stand in the table only."));
    new SliceMap(parent, slice, map, point);
  } else {
    parent.append(make("p", {class: "hint"}, slice && slice.chips > 4096 ? "No map of more than 4096 chips; the busiest links:" : "The slice is no grid; its busiest links:"));
  }
  const table = new SortedTable([
    {title: "link", text: row => row[0]},
    {title: "utilisation", value: row => row[3], text: row => percent(row[3])},
    {title: "bytes", value: row => row[1], text: row => bytes(row[1])},
    {title: "busy", value: row => row[2], text: row => seconds(row[2])},
    {title: "stands for links", value: row => row[4], text: row => count(row[4])},
  ], map.links.slice(0, 200));
  parent.append(make("details", {}, make("summary", {}, `Table of the ${Math.min(200, map.links.length)} busiest links`), table.node));
}

function mapLabel(map) {
  const point = POINTS[map.point];
  return [point.collective || point.name || "step", sizeText(point), point.lowering, known(timeOf(point)) ? seconds(timeOf(point)) : ""].filter(Boolean).join(", ");
}

function mapSection() {
  const maps = DATA.maps.filter(map => map.point < POINTS.length);
  if (maps.length === 0) return;
  const node = section("Links of the slice");
  const body = make("div");
  const large = Math.max(...maps.map(map => POINTS[map.point].payload_bytes || 0));
  let chosen = maps.find(map => (POINTS[map.point].payload_bytes || 0) === large);
  if (maps.length > 1) {
    const choice = make("select", {id: "map-choice", onchange: () => { chosen = maps[Number(choice.value)]; drawMap(body, chosen); }},
      ...maps.map((map, k) => make("option", {value: k, selected: map === chosen ? "" : null}, mapLabel(map))));
    node.append(make("div", {class: "row"}, make("label", {}, "Point", choice)));
  } else {
    node.append(make("p", {class: "hint"}, mapLabel(chosen)));
  }
  node.append(body);
  drawMap(body, chosen);
  dark.addEventListener("change", () => drawMap(body, chosen));
}
