// The page, from DATA.
function summary() {
  const done = POINTS.filter(point => !point.error).length;
  const parts = [`${count(done)} ${done === 1 ? "point" : "points"}`];
  if (done < POINTS.length) parts.push(`${count(POINTS.length - done)} failed`);
  if (DATA.slice) parts.push(`${DATA.slice.spec}: ${count(DATA.slice.chips)} chips`);
  const networks = [...new Set(POINTS.map(point => point.network).filter(known))];
  if (networks.length > 0) parts.push("network " + networks.join(", "));
  parts.push("podsim " + DATA.result.version);
  document.getElementById("summary").textContent = parts.join(" \u00b7 ");
  if (DATA.left_out.length > 0) {
    document.querySelector("header").append(make("p", {class: "hint"}, "Left out to keep this file small: " + DATA.left_out.join("; ") + ". JSON results have everything (--json, for links with --top; of sweeps -o FILE.json)."));
  }
}

const STEP_PARTS = [["compute", "compute_s", 0], ["interference", "interference_s", 4], ["exposed communication", "exposed_communication_s", 1], ["idle", "idle_s", 6]];

// Where the makespan of a step went.
function stepSection(step) {
  const node = section("Step");
  node.append(make("p", {}, `Makespan ${seconds(step.makespan_s)}, lower bound ${seconds(step.lower_bound_s)} (${step.bound}), efficiency ${percent(step.efficiency)}.`));
  const rows = [...STEP_PARTS.map(([name, key, k]) => [name, step[key], k]), ["overlapped (beside the others)", step.overlapped_communication_s, 3]];
  const bars = make("div", {class: "bars", role: "list"});
  for (const [name, value, k] of rows.filter(row => known(row[1]))) {
    const fill = make("i");
    fill.style.width = `${Math.min(100, 100 * value / (step.makespan_s || 1))}%`;
    fill.style.background = hue(k);
    bars.append(make("span", {class: "name"}, name), make("div", {class: "bar", "aria-hidden": "true"}, fill),
      make("span", {class: "value"}, `${seconds(value)}, ${percent(value / (step.makespan_s || 1))}`));
  }
  node.append(bars);
  const tables = [
    ["Collectives", step.collectives, [textColumn("id", "id"), textColumn("collective", "collective"), textColumn("group", "group"),
      numberColumn("payload", "payload_bytes", bytes), numberColumn("executions", "executions", count), textColumn("mode", "mode"),
      numberColumn("total", "total_s", seconds), numberColumn("exposed", "exposed_s", seconds), numberColumn("overlapped", "overlapped_s", seconds),
      numberColumn("alone", "time_s", seconds), numberColumn("efficiency alone", "efficiency", percent), textColumn("lowering", "lowering")]],
    ["Computes", step.computes, [textColumn("id", "id"), numberColumn("executions", "executions", count), numberColumn("compute", "compute_s", seconds),
      numberColumn("interference", "interference_s", seconds)]],
    ["Critical path", step.critical_path, [textColumn("op", "op"), textColumn("kind", "kind"), numberColumn("time", "seconds", seconds),
      numberColumn("of it by order only", "scheduling_s", seconds)]],
  ];
  for (const [title, rows_, columns] of tables) {
    if (!rows_ || rows_.length === 0) continue;
    node.append(make("h3", {}, title), new SortedTable(columns, rows_, {id: title.toLowerCase().replace(" ", "-"), filter: rows_.length > 10}).node);
  }
}

summary();
plotSection();
if (POINTS.length === 1 && POINTS[0].collectives) stepSection(POINTS[0]);
mapSection();
timelineSection();
pointsSection();
notApplicableSection();
parametersSection();
