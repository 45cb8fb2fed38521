// Shared by both test files: the program, a browser, and pages that record errors and requests.

import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { chromium } from "playwright-core";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "../..");

/** The program under test. */
export const program = resolve(process.env.BOOSTFGL_BIN || join(root, "target/debug/boostfgl"));

const browserPath = process.env.BOOSTFGL_CHROMIUM || "/usr/bin/chromium";

const shots = resolve(process.env.BOOSTFGL_SHOTS || join(root, "target/browser"));

/** Nothing here may take longer; a test that hangs is a failure. */
export const LONGEST = 60_000;

/** Settings for a run of about a second. */
export const SMALL = ["--set", "model.hidden=16", "--quiet"];

const FLAGS = [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync",
];

const children = new Set();
// A test that fails or is stopped must leave no process behind.
process.on("exit", () => children.forEach((child) => child.kill("SIGKILL")));
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(1));

/** A folder that is removed after the tests. */
export function temporaryFolder() {
  const folder = mkdtempSync(join(tmpdir(), "boostfgl-browser-"));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Runs the program to its end and returns its output; a failure is an error with the messages of the program. */
export async function boostfgl(...args) {
  return (await promisify(execFile)(program, args, { timeout: LONGEST, maxBuffer: 1 << 26 })).stdout;
}

/** Starts the program and does not wait for it. */
export function start(...args) {
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] });
  children.add(child);
  child.ended = new Promise((done) => child.once("close", (code) => done(code)));
  child.ended.then(() => children.delete(child));
  child.errors = "";
  child.stderr.on("data", (text) => { child.errors += text; });
  child.stdout.on("data", () => {});
  return child;
}

/** Ends a program that was started. */
export async function stop(child) {
  child?.kill("SIGKILL");
  await child?.ended;
}

/** A browser without a window. */
export function openBrowser() {
  return chromium.launch({ executablePath: browserPath, headless: true, args: FLAGS, timeout: LONGEST });
}

/** A page that records its requests and errors. */
export async function openPage(browser, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1200, height: 900 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(10_000);
  page.wrong = [];
  page.requests = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) page.wrong.push(`${message.type()}: ${message.text()}`);
  });
  page.on("pageerror", (error) => page.wrong.push(`uncaught: ${error.message}`));
  // A data address makes no request.
  page.on("request", (request) => { if (!request.url().startsWith("data:")) page.requests.push(request.url()); });
  return page;
}

/** Closes a page and its context. */
export const closePage = (page) => page.context().close();

export const assertNothingWrong = (page) => assert.deepEqual(page.wrong, [], "console and uncaught errors");

/** The cells of a table, row by row, heads first. */
export const cells = (table) => table.evaluate((t) => [...t.rows].map((row) => [...row.cells].map((c) => c.textContent)));

/** The figure with this caption. */
export function figure(page, caption) {
  const text = new RegExp(`^${caption.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}( \\(|$)`);
  return page.locator("figure.chart").filter({ has: page.locator("figcaption", { hasText: text }) }).first();
}

/** The numbers behind a figure. */
export const numbers = (page, caption) => cells(figure(page, caption).locator("details table"));

/** Fails if the page itself, not a box on it, scrolls sideways. */
export async function assertFitsWindow(page) {
  const [content, window] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  assert.ok(content <= window, `the page is ${content} px wide in a window of ${window} px`);
}

/** Saves a screenshot of the page in the build folder. */
export async function picture(page, name) {
  mkdirSync(shots, { recursive: true });
  await page.screenshot({ path: join(shots, `${name}.png`), fullPage: true });
}

export const json = (...path) => JSON.parse(readFileSync(join(...path), "utf8"));

export const jsonLines = (...path) =>
  readFileSync(join(...path), "utf8").split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));

export const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

/** Polls until the result is truthy, and returns it; fails after a timeout. */
export async function eventually(what, poll, milliseconds = 20_000) {
  const until = Date.now() + milliseconds;
  for (;;) {
    const result = await poll();
    if (result) return result;
    assert.ok(Date.now() < until, `after ${milliseconds / 1000} s: ${what}`);
    await new Promise((done) => setTimeout(done, 50));
  }
}
