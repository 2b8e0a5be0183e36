// Tables that sort by a click on a header and filter by a text.

// Columns: {title, value(row): what to sort by (a number or text), text(row)};
// `value` left out: the text.
class SortedTable {
  constructor(columns, rows, {filter = false, id = null} = {}) {
    Object.assign(this, {columns, rows, by: -1, up: true, query: ""});
    this.body = make("tbody");
    this.heads = columns.map((column, k) => make("th", {scope: "col", class: column.value ? "num" : null},
      make("button", {type: "button", onclick: () => this.sort(k)}, column.title)));
    const table = make("table", {id}, make("thead", {}, make("tr", {}, ...this.heads)), this.body);
    const frame = make("div", {class: "scroll tall", tabindex: "0", role: "region", "aria-label": "Table"}, table);
    this.node = make("div");
    if (filter) this.node.append(this.filterRow(id));
    this.node.append(frame);
    this.draw();
  }

  filterRow(id) {
    const input = make("input", {type: "search", id: id + "-filter", placeholder: "words, all of which must appear",
      oninput: () => { this.query = input.value.toLowerCase(); this.draw(); }});
    this.status = make("span", {class: "hint", role: "status"});
    return make("div", {class: "row"}, make("label", {}, "Filter", input), this.status);
  }

  sort(k) {
    this.up = this.by === k ? !this.up : true;
    this.by = k;
    this.draw();
  }

  matches(row) {
    const text = this.columns.map(column => column.text(row)).join(" ").toLowerCase();
    return this.query.split(/\s+/).every(word => text.includes(word));
  }

  // What is not known comes last either way.
  sorted(rows) {
    if (this.by < 0) return rows;
    const column = this.columns[this.by];
    const key = column.value || column.text;
    const sign = this.up ? 1 : -1;
    return [...rows].sort((a, b) => {
      const [p, q] = [key(a), key(b)];
      if (!known(p) || !known(q)) return known(q) - known(p);
      return sign * (typeof p === "number" ? p - q : p.localeCompare(q, "en", {numeric: true}));
    });
  }

  draw() {
    this.heads.forEach((head, k) => head.setAttribute("aria-sort", k !== this.by ? "none" : this.up ? "ascending" : "descending"));
    this.heads.forEach((head, k) => {
      head.firstChild.textContent = this.columns[k].title + (k !== this.by ? "" : this.up ? " \u25b2" : " \u25bc");
    });
    const rows = this.sorted(this.rows.filter(row => this.matches(row)));
    if (this.status) this.status.textContent = `${rows.length} of ${this.rows.length}`;
    this.body.replaceChildren(...rows.map(row => make("tr", {}, ...this.columns.map(column => make("td",
      {class: column.value ? "num" : column.wrap ? "wrap" : null}, column.text(row))))));
  }
}

const textColumn = (title, key, wrap = false) => ({title, wrap, key, text: row => known(row[key]) ? String(row[key]) : "-"});
const numberColumn = (title, key, show) => ({title, key, value: row => row[key], text: row => show(row[key])});

const POINT_COLUMNS = [
  textColumn("collective", "collective"), textColumn("step", "name"), textColumn("workload", "workload"),
  textColumn("slice", "slice"),
  numberColumn("payload", "payload_bytes", bytes), textColumn("lowering", "lowering", true),
  {title: "time", key: "time_s", value: timeOf, text: row => seconds(timeOf(row))},
  numberColumn("bound", "lower_bound_s", seconds), textColumn("bound by", "bound"),
  numberColumn("efficiency", "efficiency", percent),
  numberColumn("algbw", "algbw_bytes_per_s", rate), numberColumn("busbw", "busbw_bytes_per_s", rate),
  numberColumn("transfers", "transfers", count),
  textColumn("network", "network"), textColumn("group", "group"), numberColumn("chips", "group_size", count),
  {title: "verified", key: "verified", text: row => row.verified ? row.verified.method : "-"},
  textColumn("error", "error", true), textColumn("request", "request", true),
];

function pointsSection() {
  const steps = POINTS.every(point => known(point.makespan_s));
  const columns = POINT_COLUMNS.filter(column => POINTS.some(point => known(point[column.key])) || (steps && column.key === "time_s"));
  section("All points").append(new SortedTable(columns, POINTS, {filter: true, id: "points"}).node);
}

// "ici.bandwidth_bytes_per_s": the name and its unit.
const UNITS = [
  [/_bytes_per_s$/, rate, "bytes/s"], [/_flop_per_s$/, value => scaled(value, [[1e12, "TFLOP/s"], [1, "FLOP/s"]]), "FLOP/s"],
  [/_bytes$/, bytes, "bytes"], [/_s$/, seconds, "s"], [/$/, digits, "number"],
];
function parameterRows(values) {
  return Object.keys(values[0] || {}).map(key => {
    const [suffix, show, unit] = UNITS.find(([pattern]) => pattern.test(key));
    const different = [...new Set(values.map(set => set[key]))];
    return {name: key.replace(suffix, ""), unit, text: different.map(value => known(value) ? show(value) : "not known").join(", "),
      exact: different.map(value => known(value) ? String(value) : "-").join(", ")};
  });
}

function parametersSection() {
  const values = DATA.result.parameters ? [DATA.result.parameters] : DATA.parameters;
  if (values.length === 0) return;
  const node = section("Parameters");
  if (values.length > 1) node.append(make("p", {class: "hint"}, `${values.length} different sets among the points; all values that occur.`));
  node.append(new SortedTable([textColumn("parameter", "name"), textColumn("value", "text", true), textColumn("exact", "exact", true), textColumn("unit", "unit")],
    parameterRows(values), {id: "parameters"}).node);
}

function notApplicableSection() {
  const rows = DATA.result.not_applicable || [];
  if (rows.length === 0) return;
  section("Lowerings that do not apply").append(new SortedTable([textColumn("lowering", "lowering", true), textColumn("reason", "reason", true)], rows, {id: "other"}).node);
}
