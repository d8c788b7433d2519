
"use strict";
// Everything here improves a page that is complete without it: numbers as the reader writes them, tables that sort,
// values under the pointer, and the threshold slider.

const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const data = JSON.parse(document.getElementById("data").textContent);
const locale = navigator.languages && navigator.languages.length ? navigator.languages : undefined;
const formats = new Map();

function format(value, digits, least = digits) {
  const key = `${digits} ${least}`;
  if (!formats.has(key)) {
    formats.set(key, new Intl.NumberFormat(locale, { maximumFractionDigits: digits, minimumFractionDigits: least }));
  }
  return formats.get(key).format(value);
}
const percent = (share) => !Number.isFinite(share) ? "–"
  : share > 0 && share < 0.0005 ? `less than ${format(0.1, 1)}\u00a0%`
  : share < 1 && share > 0.9995 ? `more than ${format(99.9, 1)}\u00a0%` : `${format(100 * share, 1)}\u00a0%`;
const count = (value) => format(value, Number.isInteger(value) ? 0 : 1);
const significant = (value, digits) =>
  new Intl.NumberFormat(locale, { maximumSignificantDigits: digits, useGrouping: Math.abs(value) >= 1e4 }).format(value);

// Numbers of the page are written in English, 1,234.5; where the reader's browser writes them otherwise, they change.
if (format(1234.5, 1) !== "1,234.5") {
  const number = /(?<![\w.,-])\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\w.,]*\w)|(?<![\w.,])\d+\.\d+(?![\w.]*\w)/g;
  for (const element of all("[data-numbers]")) {
    const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      node.nodeValue = node.nodeValue.replace(number, (text) => {
        const decimals = text.includes(".") ? text.length - text.indexOf(".") - 1 : 0;
        return format(Number(text.replaceAll(",", "")), decimals);
      });
    }
  }
}

for (const table of all("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => head.firstElementChild.addEventListener("click", () => {
    const sign = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
    const key = (row) => { const c = row.cells[column]; return c.dataset.sort === undefined ? c.textContent : Number(c.dataset.sort); };
    const compare = (a, b) => typeof a === "number" && typeof b === "number" ? a - b
      : typeof a === "number" ? -1 : typeof b === "number" ? 1 : a.localeCompare(b, "en", { numeric: true });
    const rows = [...table.tBodies[0].rows].sort((a, b) => {
      const x = key(a), y = key(b);
      return typeof x === typeof y ? sign * compare(x, y) : compare(x, y);   // cells without a number stay last
    });
    heads.forEach((other) => other.setAttribute("aria-sort", "none"));
    head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
    table.tBodies[0].append(...rows);
  }));
}

addEventListener("beforeprint", () => all("details").forEach((folded) => { folded.open = true; }));

// The frame of a picture: from places to values and back.
function frameOf(picture) {
  const [x0, x1, left, right, y0, y1, bottom, top] = picture.dataset.frame.split(" ").map(Number);
  const log = "log" in picture.dataset, middle = Number(picture.dataset.log), inside = 2 / 0.9;
  let bend = (v) => v, unbend = (v) => v;
  if (log && !middle) {
    bend = Math.log10;
    unbend = (v) => 10 ** v;
  } else if (log) {  // logarithmic beyond the middle alone
    bend = (v) => Math.abs(v) <= middle ? inside * v / middle : Math.sign(v) * (inside + Math.log10(Math.abs(v) / middle));
    unbend = (v) => Math.abs(v) <= inside ? v * middle / inside : Math.sign(v) * middle * 10 ** (Math.abs(v) - inside);
  }
  const a = bend(x0), b = bend(x1);
  return {
    left, right, top, bottom, x0, x1, y0, y1,
    placeX: (v) => left + (bend(v) - a) / ((b - a) || 1) * (right - left),
    placeY: (v) => bottom + (v - y0) / ((y1 - y0) || 1) * (top - bottom),
    valueX: (p) => unbend(a + (p - left) / (right - left) * (b - a)),
    valueY: (p) => y0 + (p - bottom) / (top - bottom) * (y1 - y0),
    pointer(event) {
      const box = picture.getBoundingClientRect(), size = picture.viewBox.baseVal;
      return [(event.clientX - box.left) * size.width / box.width, (event.clientY - box.top) * size.height / box.height];
    },
  };
}

const hint = document.getElementById("hint");
function tell(event, text) {
  hint.textContent = text;
  hint.hidden = false;
  const { width, height } = hint.getBoundingClientRect();
  const left = Math.min(event.clientX + 14, innerWidth - width - 6);
  const above = event.clientY - height - 12;
  hint.style.transform = `translate(${Math.max(6, left)}px, ${above > 6 ? above : event.clientY + 18}px)`;
}
function watch(picture, describe) {
  picture.addEventListener("pointermove", (event) => {
    const text = describe(event);
    if (text) tell(event, text); else hint.hidden = true;
  });
  picture.addEventListener("pointerleave", () => { hint.hidden = true; });
}

// Parts of dates as people write them; a year is a position in time.
function dateText(value, part) {
  const named = (month, day, form) => new Date(Date.UTC(2024, month, day)).toLocaleString(locale, { ...form, timeZone: "UTC" });
  if (part === "year") return new Date((value - 1970) * 365.2425 * 864e5).toISOString().slice(0, 10);
  if (part === "month") return named(Math.round(value) - 1, 1, { month: "short" });
  if (part === "weekday") return named(0, Math.round(value), { weekday: "short" });  // 2024 began on a Monday
  return part === "hour" ? `${Math.round(value)} h` : null;
}

// Curves of columns: the value under the pointer, read from the line itself.
for (const picture of all('svg[data-kind="column"]')) {
  const frame = frameOf(picture);
  const lines = all("polyline.line", picture).map((line) => line.getAttribute("points").split(" ").map((p) => p.split(",").map(Number)));
  watch(picture, (event) => {
    const [x] = frame.pointer(event);
    if (x < frame.left - 2 || x > frame.right + 2) return "";
    const points = lines.find((piece) => piece[0][0] - 2 <= x && x <= piece[piece.length - 1][0] + 2);
    if (!points) return "";  // the picture has no room for the curve here
    let k = points.findIndex((p) => p[0] >= x);
    if (k < 0) k = points.length - 1;
    const [ax, ay] = points[Math.max(0, k - 1)], [bx, by] = points[k];
    const y = bx > ax ? ay + (by - ay) * Math.min(1, Math.max(0, (x - ax) / (bx - ax))) : by;
    const at = frame.valueX(Math.min(frame.right, Math.max(frame.left, x)));
    return `${dateText(at, picture.dataset.part) ?? significant(at, 4)}: ${significant(frame.valueY(y), 3)}`;
  });
}

const explored = data.explorer;
if (explored) {
  const { thresholds, hits, alarms, positives, negatives, probabilities, curve, names, effective } = explored;
  const total = positives + negatives;
  const slider = document.getElementById("threshold"), cost = document.getElementById("cost");
  const places = new Map(all("[data-show]").map((place) => [place.dataset.show, place]));
  const show = (name, text) => { if (places.has(name)) places.get(name).textContent = text; };
  const alarm = document.getElementById("alarm"), boxes = ["recall", "calls", "typed"].map((id) => document.getElementById(id));
  const typed = (box, otherwise) => { const value = box.valueAsNumber; return Number.isFinite(value) && value >= 0 ? value : otherwise; };
  const costs = (k) => alarms[k] * typed(alarm, 1) + (positives - hits[k]) * typed(cost, explored.ratio);
  const interval = (right, rows, each) => {   // Wilson's, 95 %
    if (!(rows > 0)) return "–";
    const share = right / rows, n = rows * each, z = 1.959963984540054, middle = share + z * z / (2 * n);
    const half = z * Math.sqrt(share * (1 - share) / n + z * z / (4 * n * n)), scale = 1 + z * z / n;
    return `${percent(Math.max(0, (middle - half) / scale))} to ${percent(Math.min(1, (middle + half) / scale))}`;
  };
  const interpolate = (xs, ys, x) => {
    if (x <= xs[0]) return ys[0];
    const k = xs.findIndex((v) => v >= x);
    if (k < 0) return ys[ys.length - 1];
    return ys[k - 1] + (ys[k] - ys[k - 1]) * (x - xs[k - 1]) / ((xs[k] - xs[k - 1]) || 1);
  };
  const where = {
    roc: (k) => [alarms[k] / negatives, hits[k] / positives],
    precision: (k) => [hits[k] / positives, hits[k] / (hits[k] + alarms[k])],
    gain: (k) => [(hits[k] + alarms[k]) / total, hits[k] / positives],
    calibration: (k) => probabilities && curve ? [probabilities[k], interpolate(curve[0], curve[1], probabilities[k])] : [NaN, NaN],
  };
  const pictures = all("svg[data-kind]").filter((p) => p.dataset.kind in where).map((picture) => (
    { picture, frame: frameOf(picture), at: where[picture.dataset.kind], point: picture.querySelector(".point"), kind: picture.dataset.kind }));
  const lines = all("line[data-threshold]").map((line) => ({ line, frame: frameOf(line.ownerSVGElement) }));

  const move = () => {
    const k = Number(slider.value), tp = hits[k], fp = alarms[k], fn = positives - tp, tn = negatives - fp;
    const alerts = 1000 * (tp + fp) / total;
    show("threshold", significant(thresholds[k], 15));
    if (probabilities) show("probability", percent(probabilities[k]));
    for (const [name, value] of Object.entries({ tp, fp, fn, tn })) show(name, count(Math.round(value * 1e6) / 1e6));
    show("sensitivity", percent(tp / positives));
    show("specificity", percent(tn / negatives));
    show("ppv", percent(tp / (tp + fp)));
    show("npv", percent(tn / (tn + fn)));
    show("alerts", format(alerts, 1));
    show("sensitivity-interval", interval(tp, positives, effective[0]));
    show("ppv-interval", interval(tp, tp + fp, effective[1]));
    show("cost", format(costs(k) * 1000 / total, 1));
    for (const box of boxes) if (box !== document.activeElement) box.value = "";
    slider.setAttribute("aria-valuetext", `score at least ${significant(thresholds[k], 4)}, ${format(alerts, 0)} alerts per ${format(1000, 0)} rows`);
    for (const { at, frame, point } of pictures) {
      if (!point) continue;
      const [x, y] = at(k);
      const there = Number.isFinite(x) && Number.isFinite(y);
      point.setAttribute("visibility", there ? "visible" : "hidden");
      if (there) {
        point.setAttribute("cx", frame.placeX(Math.min(x, frame.x1)).toFixed(1));
        point.setAttribute("cy", frame.placeY(y).toFixed(1));
      }
    }
    for (const { line, frame } of lines) {
      const at = Math.min(frame.right, Math.max(frame.left, frame.placeX(thresholds[k]))).toFixed(1);
      line.setAttribute("x1", at);
      line.setAttribute("x2", at);
    }
  };
  const best = (value) => hits.reduce((found, _, k) => value(k) > value(found) ? k : found, 0);
  const go = (k) => { slider.value = k; move(); };
  document.getElementById("cheapest").addEventListener("click", () => go(best((k) => -costs(k))));
  const last = (holds) => hits.reduce((found, _, k) => holds(k) ? k : found, 0);
  const rules = {   // the highest threshold that finds so many, the lowest that calls so few, the one nearest to a score
    recall: (value) => last((k) => hits[k] >= positives * value / 100 * (1 - 1e-9)),
    calls: (value) => best((k) => hits[k] + alarms[k] <= total * value / 1000 * (1 + 1e-9) ? hits[k] + alarms[k] : -1),
    typed: (value) => best((k) => -Math.abs(thresholds[k] - value)),
  };
  for (const box of boxes) {
    box.addEventListener("input", () => { if (Number.isFinite(box.valueAsNumber)) go(rules[box.id](box.valueAsNumber)); });
  }
  document.getElementById("youden").addEventListener("click", () => go(best((k) => hits[k] / positives - alarms[k] / negatives)));
  slider.addEventListener("input", move);
  for (const box of [cost, alarm]) box.addEventListener("input", move);

  const nearest = (frame, at, [px, py]) => {
    let found = -1, least = Infinity;
    for (let k = 0; k < thresholds.length; k++) {
      const [x, y] = at(k);
      const distance = (frame.placeX(x) - px) ** 2 + (frame.placeY(y) - py) ** 2;
      if (distance < least) { least = distance; found = k; }
    }
    return found;
  };
  for (const { picture, frame, at, kind } of pictures) {
    if (kind === "calibration") continue;
    watch(picture, (event) => {
      const k = nearest(frame, at, frame.pointer(event));
      if (k < 0) return "";
      return `score at least ${significant(thresholds[k], 4)}\n${percent(hits[k] / positives)} of the ${names.positive} found\n`
        + `${percent(alarms[k] / negatives)} of the ${names.negative} called\n${percent(hits[k] / (hits[k] + alarms[k]))} of the alerts are right`;
    });
    picture.addEventListener("click", (event) => { const k = nearest(frame, at, frame.pointer(event)); if (k >= 0) go(k); });
  }
  for (const element of [slider, cost, alarm, ...all(".ends, #cheapest, #youden, .rules")]) element.hidden = false;
  all(".without-script").forEach((element) => { element.hidden = true; });
  move();
}
