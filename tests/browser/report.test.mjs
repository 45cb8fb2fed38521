// The report, opened from disk in a browser: its sections, its numbers, and its accessibility.

import assert from "node:assert/strict";
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import {
  LONGEST, SMALL, assertFitsWindow, assertNothingWrong, boostfgl, cells, closePage, figure, json, jsonLines, mean, numbers,
  openBrowser, openPage, picture, temporaryFolder,
} from "./common.mjs";

const folder = temporaryFolder();
const METHODS = ["fedavg", "boostfgl"];
/** Two runs with all diagnostics. */
const both = join(folder, "both");
const compared = join(folder, "compared");

let browser;

before(async () => {
  [browser] = await Promise.all([
    openBrowser(),
    boostfgl("run", "--rounds", "6", "--seeds", "2", "--diagnostics", "all", "--out", both, ...SMALL),
    boostfgl("compare", "demo", "--methods", "fedavg,fedprox,boostfgl", "--rounds", "4", "--seeds", "3", "--out", compared,
      ...SMALL),
  ]);
}, { timeout: LONGEST });

after(() => browser?.close());

/** A test on its own page. It fails on errors of the page and on requests for other files. */
function on(file, name, body, options = {}) {
  test(name, { timeout: LONGEST }, async (t) => {
    const page = await openPage(browser, options);
    try {
      const address = pathToFileURL(file).href;
      const begun = performance.now();
      await page.goto(address, { waitUntil: "load" });
      page.loaded = performance.now() - begun;
      await body(page, t);
      assertNothingWrong(page);
      assert.deepEqual(page.requests, [address], "the page requests only itself");
    } finally {
      await closePage(page);
    }
  });
}

const shared = join(both, "report.html");

describe("a report of two runs with diagnostics", () => {
  on(shared, "is complete and makes no request", async (page, t) => {
    t.diagnostic(`loaded in ${page.loaded.toFixed(0)} ms`);
    assert.equal(await page.title(), "fedavg, boostfgl on demo");
    assert.equal(await page.locator("h1").textContent(), "fedavg, boostfgl on demo");
    const headings = await page.locator("section > h2").allTextContents();
    assert.deepEqual(headings, [
      "Warnings", "For whom does it work?", "What the numbers are about", "Groups of nodes", "Paired differences and ranks", "Clients", "Convergence", "The partition",
      "Trust and weights", "Where unfairness arises", "Cost", "Configuration and versions",
    ]);
    assert.deepEqual(await page.locator("nav a").allTextContents(), headings);
    assert.equal(await page.locator(".problems").count(), 0);
  });

  on(shared, "lists the warnings of summary.json before everything else", async (page) => {
    const listed = (await page.locator("#warnings li").allTextContents()).join("\n");
    const warnings = METHODS.flatMap((method) => json(both, method, "summary.json").warnings ?? []);
    assert.ok(warnings.length > 0, "after six rounds some class is never predicted");
    for (const { text } of warnings) assert.ok(listed.includes(text), `${text}\n${listed}`);
  });

  on(shared, "has a link to every section", async (page) => {
    for (const link of await page.locator("nav a").all()) {
      await link.click();
      const target = page.locator(await link.getAttribute("href"));
      assert.ok(await target.evaluate((section) => Math.abs(section.getBoundingClientRect().top) < innerHeight));
    }
  });

  on(shared, "gives the scores of summary.json", async (page) => {
    const metrics = ["accuracy", "overall_f1", "hete_f1", "hete_min_f1"];
    const expected = METHODS.flatMap((method) => {
      const { mean, std } = json(both, method, "summary.json");
      const shown = (metric, reading) => `${mean[metric][reading].toFixed(2)} ± ${std[metric][reading].toFixed(2)}`;
      const readings = ["pooled", "present", "client"];
      return readings.map((reading) => [method, reading, ...metrics.map((metric) => shown(metric, reading))]);
    });
    const [, ...rows] = await cells(page.locator("details.scores table"));
    assert.deepEqual(rows, expected);
  });

  on(shared, "ends its curves with the last rounds of rounds.jsonl", async (page) => {
    const [head, ...rows] = await numbers(page, "Accuracy");
    const last = rows.at(-1);
    assert.equal(rows.length, 6);
    assert.equal(last[0], "6");
    for (const method of METHODS) {
      const rounds = jsonLines(both, method, "rounds.jsonl").filter((round) => round.round === 6);
      assert.equal(rounds.length, 2, "one last round per seed");
      const accuracy = mean(rounds.map((round) => round.metrics.scores.accuracy.pooled));
      assert.ok(Math.abs(Number(last[head.indexOf(method)]) - accuracy) < 0.00051, `${method}: ${last} and ${accuracy}`);
    }
  });

  on(shared, "counts the nodes and edges of partition.json", async (page) => {
    const [first] = json(both, "fedavg", "partition.json").seeds;
    const { clients, classes } = first.partition;
    const [held, ...holders] = await numbers(page, "Clients, classes and lost edges");
    const [trained, ...trainers] = await numbers(page, "Training nodes by class");
    for (const [k, client] of clients.entries()) {
      const of = (head, rows) => (name) => Number(rows[k][head.indexOf(`class ${name}`)]);
      assert.equal(holders[k][0], `client ${k}`);
      assert.deepEqual(classes.map(of(held, holders)), client.class_counts);
      assert.deepEqual(classes.map(of(trained, trainers)), client.train_class_counts);
      assert.ok(holders[k].includes(String(client.lost_edges)), `${holders[k]} has no ${client.lost_edges}`);
    }
  });
});

/**
 * Scrolls a mark to the middle of the window and returns its position. The page gets the scroll event one frame later and
 * then hides the box: the test must wait for that before it points.
 */
async function placeOf(mark) {
  await mark.evaluate(async (element) => {
    const frame = () => new Promise((drawn) => { requestAnimationFrame(drawn); });
    element.scrollIntoView({ block: "center" });
    await frame();
    await frame();
  });
  const { x, y, width, height } = await mark.boundingBox();
  return [x + width / 2, y + height / 2];
}

/** Points at a mark, moving the mouse a little, until its numbers are shown. */
async function pointAt(page, mark) {
  const [x, y] = await placeOf(mark);
  const box = page.locator("#hover");
  for (let step = 0; step < 20; step += 1) {
    await page.mouse.move(x + (step % 2), y);
    if (await box.isVisible()) return box;
    await page.waitForTimeout(10 * step);
  }
  assert.fail("nothing is shown");
}

describe("pointing at a chart", () => {
  on(shared, "shows the numbers of a slice and hides them elsewhere", async (page) => {
    const [head, , , third] = await numbers(page, "Accuracy");
    assert.ok(await page.locator("#hover").isHidden());
    const box = await pointAt(page, figure(page, "Accuracy").locator("svg .slice").nth(2));
    const shown = await box.textContent();
    assert.match(shown, /^round 3\n/);
    for (const method of METHODS) {
      const [value, low, high] = third.slice(head.indexOf(method));
      assert.ok(shown.includes(`${method}: ${value} (${low} to ${high})`), `${shown} has no ${value}`);
    }
    await page.mouse.move(...await placeOf(page.locator("h1")));
    await box.waitFor({ state: "hidden" });
  });

  on(shared, "shows the numbers of a dot, inside the window", async (page) => {
    const [, first] = await numbers(page, "Accuracy by group");
    const box = await pointAt(page, figure(page, "Accuracy by group").locator("svg .dot").first());
    const [group, series, value, low, high] = first;
    assert.equal(await box.textContent(), `${group}\n${series}: ${value} (${low} to ${high})`);
    const { x, y, width, height } = await box.boundingBox();
    assert.ok(x >= 0 && y >= 0 && x + width <= 1200 && y + height <= 900, "inside the window");
  });

  on(shared, "works with a finger", async (page) => {
    const [head, ...rows] = await numbers(page, "Overall-F1");
    const slice = figure(page, "Overall-F1").locator("svg .slice").first();
    await page.touchscreen.tap(...await placeOf(slice));
    const box = page.locator("#hover");
    await box.waitFor();
    assert.ok((await box.textContent()).includes(`fedavg: ${rows[0][head.indexOf("fedavg")]}`));
    await page.touchscreen.tap(...await placeOf(page.locator("h1")));
    await box.waitFor({ state: "hidden" });
  }, { hasTouch: true, viewport: { width: 800, height: 900 } });
});

describe("the table behind a chart", () => {
  on(shared, "opens by mouse and by keyboard", async (page) => {
    const [table, summary] = ["details table", "summary"].map((part) => figure(page, "Training loss").locator(part));
    assert.ok(await table.isHidden());
    await summary.click();
    await table.waitFor();
    await summary.focus();
    await page.keyboard.press("Enter");
    await table.waitFor({ state: "hidden" });
    await page.keyboard.press("Enter");
    await table.waitFor();
  });
});

/** The contrast of every visible text with its background, the lowest first (WCAG 2, 1.4.3). */
const contrasts = (page) => page.evaluate(() => {
  const parsed = (colour) => colour.match(/[\d.]+/g).map(Number);
  const luminance = (colour) => {
    const [r, g, b] = colour.slice(0, 3).map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = parsed(getComputedStyle(at).backgroundColor);
      if ((colour[3] ?? 1) > 0) return colour;
    }
    return [255, 255, 255];
  };
  const texts = document.querySelectorAll("h1, h2, h3, p, a, li, th, td, dt, dd, summary, figcaption, button, label, svg text");
  const checked = (element) =>
    element.textContent.trim() !== "" && element.checkVisibility() && !element.matches(".inverse, .halo");
  const found = [...texts].filter(checked)
    .map((element) => {
      const style = getComputedStyle(element);
      const text = parsed(element instanceof SVGElement ? style.fill : style.color);
      const [light, dark] = [luminance(text), luminance(behind(element))].sort((a, b) => b - a);
      return [(light + 0.05) / (dark + 0.05), `${element.tagName}.${element.className.baseVal ?? element.className}`];
    });
  return found.sort((a, b) => a[0] - b[0]);
});

async function assertReadable(page, t) {
  const [[lowest, where]] = await contrasts(page);
  t.diagnostic(`lowest contrast ${lowest.toFixed(2)} (${where})`);
  assert.ok(lowest >= 4.5, `contrast ${lowest.toFixed(2)} of ${where}`);
}

/** Opens every closed table and list. */
const unfold = (page) => page.locator("details").evaluateAll((all) => all.forEach((details) => { details.open = true; }));

const background = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);

describe("the report for every reader", () => {
  for (const width of [360, 768, 1200, 1600]) {
    on(shared, `fits into a window of ${width} px`, async (page) => {
      await unfold(page);
      await assertFitsWindow(page);
    }, { viewport: { width, height: 900 } });
  }

  on(shared, "is readable in the light", async (page, t) => {
    await picture(page, "report-wide-light");
    assert.equal(await background(page), "rgb(255, 255, 255)");
    await unfold(page);
    await assertReadable(page, t);
  }, { viewport: { width: 1600, height: 900 } });

  on(shared, "is readable in the dark", async (page, t) => {
    await picture(page, "report-wide-dark");
    const [r, g, b] = (await background(page)).match(/\d+/g).map(Number);
    assert.ok(Math.max(r, g, b) < 64, `the dark page is rgb(${r}, ${g}, ${b})`);
    await unfold(page);
    await assertReadable(page, t);
  }, { viewport: { width: 1600, height: 900 }, colorScheme: "dark" });

  on(shared, "is readable on a phone", async (page) => {
    await picture(page, "report-narrow");
  }, { viewport: { width: 360, height: 740 } });

  on(shared, "can be printed, from a dark screen too", async (page) => {
    const pdf = await page.pdf({ format: "A4" });
    assert.equal(pdf.subarray(0, 5).toString(), "%PDF-");
    await page.emulateMedia({ media: "print", colorScheme: "dark" });
    assert.ok(await page.locator("nav").isHidden());
    assert.equal(await background(page), "rgb(255, 255, 255)");
    await page.setViewportSize({ width: 760, height: 900 });
    await picture(page, "report-print");
  }, { colorScheme: "dark" });

  on(shared, "is readable on paper, from a dark screen too", async (page, t) => {
    await page.emulateMedia({ media: "print", colorScheme: "dark" });
    await assertReadable(page, t);
  }, { colorScheme: "dark" });

  on(shared, "shows every column of a table on paper, where nothing scrolls", async (page) => {
    // A4 between margins of 1 cm, at 96 dots per inch.
    await page.setViewportSize({ width: 718, height: 1000 });
    await page.emulateMedia({ media: "print" });
    const cut = await page.locator(".scroll:visible").evaluateAll((boxes) => boxes
      .filter((box) => box.scrollWidth > box.clientWidth)
      .map((box) => `${box.closest("section").id}: ${box.scrollWidth} px in ${box.clientWidth} px`));
    assert.deepEqual(cut, []);
  });

  on(join(compared, "report.html"), "counts rounds in whole numbers", async (page) => {
    const marks = await figure(page, "Accuracy").locator("svg text.tick").allTextContents();
    // Percents are whole numbers, too: the axis has steps of five or more.
    assert.deepEqual(marks.filter((mark) => !/^-?\d+$/.test(mark)), []);
  });

  on(join(compared, "report.html"), "a comparison of three methods is complete", async (page, t) => {
    assert.equal(await page.locator("h1").textContent(), "fedavg, fedprox, boostfgl on demo");
    const headings = await page.locator("section > h2").allTextContents();
    for (const heading of ["For whom does it work?", "Paired differences and ranks", "Convergence", "Cost"]) {
      assert.ok(headings.includes(heading), `${heading} is not among ${headings}`);
    }
    const { mean } = json(compared, "comparison.json").datasets[0].rows[2].metrics.accuracy;
    const rows = await cells(page.locator("#comparison > details table"));
    const boost = rows.find((row) => row[0] === "boostfgl" && row[1] === "Accuracy, pooled");
    assert.ok(boost[2].startsWith(mean.toFixed(2)), `${boost[2]} and ${mean}`);
    await picture(page, "comparison-wide-light");
    await assertReadable(page, t);
    await page.setViewportSize({ width: 360, height: 740 });
    await picture(page, "comparison-narrow");
    await assertFitsWindow(page);
  }, { viewport: { width: 1600, height: 900 } });
});

/** Own data of two classes, as a folder of CSV files: a ring with chords, 60 nodes, features that separate the classes. */
function ownData(name, classes) {
  const own = join(folder, name);
  mkdirSync(own);
  const quoted = (text) => `"${text.replaceAll('"', '""')}"`;
  const nodes = Array.from({ length: 60 }, (_, i) => [`n${i}`, quoted(classes[i % 3 === 0 ? 1 : 0]), i % 3 === 0 ? 1 : 0, i % 7]);
  const edges = nodes.flatMap((_, i) => [1, 3, 6].map((step) => [`n${i}`, `n${(i + step) % 60}`]));
  writeFileSync(join(own, "nodes.csv"), ["id,label,f1,f2", ...nodes.map((row) => row.join(","))].join("\n") + "\n");
  writeFileSync(join(own, "edges.csv"), ["src,dst", ...edges.map((row) => row.join(","))].join("\n") + "\n");
  return own;
}

const HOSTILE = ["<script>window.hacked=1</script>", "\"><img src=x onerror=window.hacked=1>"];
const HOSTILE_FOLDER = "<b onmouseover=hacked=1>&amp;";

describe("names from files", () => {
  const out = join(folder, HOSTILE_FOLDER);

  before(() => boostfgl("run", ownData("hostile", HOSTILE), "--method", "boostfgl", "--clients", "2", "--rounds", "3", "--seeds",
    "1", "--diagnostics", "all", "--out", out, ...SMALL), { timeout: LONGEST });

  on(join(out, "report.html"), "are escaped, whatever they contain", async (page) => {
    const text = await page.locator("body").textContent();
    for (const name of [...HOSTILE, HOSTILE_FOLDER]) assert.ok(text.includes(name), `the page does not show ${name}`);
    const [head] = await numbers(page, "Clients, classes and lost edges");
    for (const name of HOSTILE) assert.ok(head.includes(`class ${name}`), `${head}`);
    for (const part of await page.locator("figure svg .part").all()) await part.dispatchEvent("pointermove");
    assert.equal(await page.evaluate(() => window.hacked), undefined);
    assert.equal(await page.locator("img, main script, main b").count(), 0);
  });
});

describe("runs that cannot be compared", () => {
  const file = join(folder, "apart.html");

  before(async () => {
    const run = (data, clients, out) => boostfgl("run", data, "--method", "fedavg", "--clients", clients, "--rounds", "2", "--seeds",
      "1", "--out", join(folder, out), ...SMALL);
    await Promise.all([run("demo", "2", "two"), run("demo", "3", "three"), run(ownData("own", ["a", "b"]), "2", "other")]);
    await boostfgl("report", ...["two", "three", "other"].map((run) => join(folder, run)), "--out", file);
  }, { timeout: LONGEST });

  on(file, "are shown apart, with the difference", async (page) => {
    const parts = await page.locator("main > h2").allTextContents();
    assert.equal(parts.length, 4, `${parts}`);
    const [apart, two, three, other] = parts;
    assert.equal(apart, "Shown apart");
    assert.equal(two, "demo (partition.clients = 2)");
    assert.equal(three, "demo (partition.clients = 3)");
    assert.ok(!other.includes("demo"), other);
    const [, ...rows] = await cells(page.locator("#apart ~ .scroll table").first());
    assert.deepEqual(rows.map((row) => row[1]), ["fedavg", "fedavg", "fedavg"]);
    assert.equal(rows[1][2], "partition.clients = 3");
    assert.equal(await page.getByText("Paired differences").count(), 0);
    await picture(page, "apart");
  });
});

describe("a damaged run", () => {
  const damaged = (name, file, damage) => {
    const run = join(folder, name);
    cpSync(join(both, "boostfgl"), run, { recursive: true });
    damage(join(run, file));
    return run;
  };
  const file = join(folder, "damaged.html");

  before(async () => {
    const runs = [
      damaged("cut", "rounds.jsonl", (path) => {
        const whole = readFileSync(path, "utf8");
        writeFileSync(path, whole.slice(0, Math.floor(whole.length * 0.7)));
      }),
      damaged("newer", "summary.json", (path) => {
        writeFileSync(path, readFileSync(path, "utf8").replace("\"version\": 1", "\"version\": 99"));
      }),
      damaged("unchecked", "predictions.csv", (path) => rmSync(path)),
    ];
    for (const run of runs) await boostfgl("report", run, "--out", `${run}.html`);
    await boostfgl("report", ...runs, "--out", file);
  }, { timeout: LONGEST });

  const headings = (page) => page.locator("section > h2").allTextContents();

  on(join(folder, "cut.html"), "with cut rounds shows the rounds before the cut", async (page) => {
    const [, ...rows] = await numbers(page, "Accuracy");
    assert.ok(rows.length > 0 && rows.length < 6, `rounds that both seeds have: ${rows.length}`);
    assert.ok((await headings(page)).includes("For whom does it work?"));
    // A finished run must have all rounds; missing ones are reported, and means are over rounds that both seeds have.
    const problems = await page.locator(".problems li").allTextContents();
    assert.ok(problems.some((problem) => problem.includes("rounds.jsonl")), `missing rounds are not reported: [${problems}]`);
  });

  on(join(folder, "newer.html"), "with a newer summary shows the rest", async (page) => {
    assert.match(await page.locator(".problems").textContent(), /summary\.json.*99/s);
    assert.ok((await headings(page)).includes("Convergence"));
    assert.ok((await headings(page)).includes("The partition"));
  });

  on(join(folder, "unchecked.html"), "without predictions names the file and shows the rest", async (page) => {
    assert.ok((await headings(page)).includes("Convergence"));
    assert.equal(await page.locator("details.scores table").count(), 1);
    assert.match(await page.locator("main").textContent(), /predictions\.csv/, "the page names the missing file");
  });

  on(file, "does not prevent the report of others", async (page) => {
    await picture(page, "damaged");
    assert.ok((await headings(page)).includes("Convergence"));
    const problems = await page.locator(".problems li").allTextContents();
    for (const run of ["cut", "newer", "unchecked"]) {
      assert.ok(problems.some((problem) => problem.startsWith(`${run}: `)), `${run} is not in ${problems.join("; ")}`);
    }
  });
});
