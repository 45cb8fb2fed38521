// The live page in a browser: the list, the filter, comparisons, and a run that is training.

import assert from "node:assert/strict";
import { cpSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import {
  LONGEST, SMALL, assertFitsWindow, assertNothingWrong, boostfgl, cells, closePage, eventually, json, openBrowser, openPage,
  picture, start, stop, temporaryFolder,
} from "./common.mjs";

const folder = temporaryFolder();
const runs = join(folder, "runs");
const many = join(folder, "many");
const live = join(folder, "live");

let browser;

before(async () => {
  [runs, many, live].forEach((path) => mkdirSync(path));
  [browser] = await Promise.all([
    openBrowser(),
    boostfgl("run", "--rounds", "3", "--seeds", "2", "--out", join(runs, "pair"), ...SMALL),
    boostfgl("run", "--method", "fedprox", "--rounds", "2", "--seeds", "1", "--out", join(runs, "prox <i>&"), ...SMALL),
  ]);
}, { timeout: LONGEST });

after(() => browser?.close());

/** A server over a folder, and its address. */
async function serve(path) {
  const server = start("serve", path, "--port", "0");
  let output = "";
  server.stdout.on("data", (text) => { output += text; });
  const [address] = await eventually(`no address: ${server.errors}`, () => output.match(/http:\/\/127\.0\.0\.1:\d+\//));
  return { server, address };
}

/** A test on a page of its own server. It fails on errors of the page and on requests to other servers. */
function on(path, name, body, options = {}) {
  test(name, { timeout: 2 * LONGEST }, async (t) => {
    const { server, address } = await serve(path);
    const page = await openPage(browser, options);
    try {
      await body(page, address, t);
      assertNothingWrong(page);
      assert.deepEqual(page.requests.filter((url) => !url.startsWith(address)), [], "requests go to the server alone");
    } finally {
      await closePage(page);
      await stop(server);
    }
  });
}

/** Opens an address and waits until the page receives updates. */
async function openLive(page, address) {
  const begun = performance.now();
  await page.goto(address, { waitUntil: "load" });
  const milliseconds = performance.now() - begun;
  await page.getByText("Live", { exact: true }).waitFor();
  return milliseconds;
}

const visibleRows = (page) => page.locator("table.serve-runs tbody tr:visible");

describe("the list of runs", () => {
  on(runs, "has every run with its scores", async (page, address) => {
    const response = await page.goto(address);
    assert.match(response.headers()["content-security-policy"] ?? "", /default-src 'none'|default-src 'self'/);
    await page.getByText("Live", { exact: true }).waitFor();
    assert.equal(await page.title(), "Runs – boostfgl");
    assert.equal(await page.locator("h1").textContent(), "Runs");
    const [, ...rows] = await cells(page.locator("table.serve-runs"));
    assert.deepEqual(rows.map((row) => row[1]).sort(), ["pair/boostfgl", "pair/fedavg", "prox <i>&"]);
    const { mean, std } = json(runs, "pair", "fedavg", "summary.json");
    const fedavg = rows.find((row) => row[1] === "pair/fedavg");
    assert.equal(fedavg[6], `${mean.accuracy.pooled.toFixed(2)} ± ${std.accuracy.pooled.toFixed(2)}`);
    assert.match(fedavg[5], /6 of 6/);
    await picture(page, "list-wide-light");
  }, { viewport: { width: 1600, height: 900 } });

  on(runs, "shows all columns in a wide window", async (page, address) => {
    await openLive(page, address);
    const [table, box] = await page.locator(".serve-wide").evaluate((box) => [box.scrollWidth, box.clientWidth]);
    assert.ok(table <= box, `the table is ${table} px wide in a box of ${box} px`);
  }, { viewport: { width: 1600, height: 900 } });

  on(runs, "can be filtered, ticked and compared", async (page, address) => {
    await openLive(page, address);
    const compare = page.locator("#compare");
    assert.ok(await compare.isDisabled());
    await page.locator("#filter").fill("PAIR");
    assert.equal(await visibleRows(page).count(), 2);
    assert.equal(await page.locator("#shown").textContent(), "2 of 3 runs");
    for (const name of ["pair/fedavg", "pair/boostfgl"]) await page.getByLabel(`Compare ${name}`).check();
    assert.equal(await compare.textContent(), "Compare 2");
    await compare.click();
    await page.locator("h1", { hasText: "Comparison" }).waitFor();
    const [, ...scores] = await cells(page.locator("details.scores table"));
    assert.deepEqual([...new Set(scores.map((row) => row[0]))].sort(), ["boostfgl", "fedavg"]);
    assert.ok(await page.locator("section#comparison").isVisible());
    await picture(page, "compare-wide-light");
    await page.getByText("All runs").click();
    await page.locator("h1", { hasText: "Runs" }).waitFor();
  });

  on(runs, "links to the report of a run with special characters in its name", async (page, address) => {
    await openLive(page, address);
    await page.getByRole("link", { name: "prox <i>&" }).click();
    await page.locator("section#verdict").waitFor();
    assert.equal(await page.locator("h1").textContent(), "prox <i>&");
    assert.equal(await page.locator("main i").count(), 0);
  });

  for (const [name, viewport, colorScheme] of [
    ["narrow", { width: 360, height: 740 }, "light"], ["wide-dark", { width: 1600, height: 900 }, "dark"],
  ]) {
    on(runs, `fits into the window: ${name}`, async (page, address) => {
      await openLive(page, address);
      await picture(page, `list-${name}`);
      await assertFitsWindow(page);
      await page.goto(`${address}run/pair/boostfgl`);
      await picture(page, `run-${name}`);
      await assertFitsWindow(page);
    }, { viewport, colorScheme });
  }

  on(many, "lists and filters 200 runs", async (page, address, t) => {
    for (let i = 0; i < 200; i += 1) cpSync(join(runs, "prox <i>&"), join(many, `run-${i}`), { recursive: true });
    const loaded = await openLive(page, address);
    await eventually("not all runs are listed", async () => await visibleRows(page).count() === 200);
    const filtered = await page.evaluate(() => {
      const filter = document.getElementById("filter");
      const begun = performance.now();
      filter.value = "run-19";
      filter.dispatchEvent(new Event("input", { bubbles: true }));
      document.body.getBoundingClientRect();
      return performance.now() - begun;
    });
    // run-19 and run-190 to run-199.
    assert.equal(await visibleRows(page).count(), 11);
    t.diagnostic(`200 runs: loaded in ${loaded.toFixed(0)} ms, filtered in ${filtered.toFixed(1)} ms`);
  });
});

describe("a run that is training", () => {
  const SEEDS = 2;
  // About fifteen seconds: long enough for several updates on a fast machine.
  const ROUNDS = 150;
  const done = async (page) => Number((await page.locator(".stands").textContent()).match(/^\d+/)[0]);

  on(live, "grows on the open page and becomes its report", async (page, address, t) => {
    const training = start("run", "--method", "boostfgl", "--rounds", `${ROUNDS}`, "--seeds", `${SEEDS}`, "--threads", "1", "--out",
      join(live, "now"), ...SMALL);
    try {
      await openLive(page, address);
      // The list is updated, too: the new run appears in it.
      await page.getByRole("link", { name: "now" }).click();
      await page.locator(".stands").waitFor();
      await page.evaluate(() => { window.sameDocument = true; });
      const first = await done(page);
      const later = await eventually("no new round", async () => { const now = await done(page); return now > first && now; });
      const third = await eventually("no new round", async () => { const now = await done(page); return now > later && now; });
      assert.ok(await page.evaluate(() => window.sameDocument), "without loading the page again");
      assert.ok(third < SEEDS * ROUNDS, `${third} rounds: seen while it is running`);
      t.diagnostic(`saw ${first}, ${later}, ${third} of ${SEEDS * ROUNDS} rounds`);
      await page.locator("summary", { hasText: "Numbers" }).first().click();
      const open = page.locator("details[open]");
      const now = await done(page);
      await eventually("no new round", async () => await done(page) > now);
      assert.equal(await open.count(), 1, "an open table stays open");
      await picture(page, "live-wide-light");
      assert.equal(await training.ended, 0, training.errors);
      await page.locator("section#verdict").waitFor({ timeout: 20_000 });
      assert.equal(await page.locator("h1").textContent(), "now");
    } finally {
      await stop(training);
    }
  });
});
