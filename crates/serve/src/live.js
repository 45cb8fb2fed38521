"use strict";
// Keeps an open page fresh: takes pieces of HTML that the server made and puts them where the old ones were.
// Without this script every page works and shows what was there when it was loaded.
(() => {
  const live = document.querySelector("[data-events]");
  const connection = document.getElementById("connection");
  const filter = document.getElementById("filter");
  const say = (text) => { if (connection && connection.textContent !== text) connection.textContent = text; };

  /** Times in the reader's own zone. */
  const localise = (root) => {
    for (const time of root.querySelectorAll("time[datetime]")) {
      const moment = new Date(time.dateTime);
      if (!Number.isNaN(moment.getTime())) time.textContent = moment.toLocaleString();
    }
  };

  /** Hides the rows without the text in the filter box and counts the others. */
  const applyFilter = () => {
    if (!filter) return;
    const wanted = filter.value.trim().toLowerCase();
    const rows = [...live.rows];
    for (const row of rows) {
      const words = [...row.cells].slice(1, 5).map((cell) => cell.textContent).join(" ").toLowerCase();
      row.hidden = !words.includes(wanted);
    }
    const shown = rows.filter((row) => !row.hidden).length;
    const text = shown === rows.length ? `${shown} runs` : `${shown} of ${rows.length} runs`;
    const output = document.getElementById("shown");
    if (output.textContent !== text) output.textContent = text;
  };

  /** How many runs are ticked. */
  const countTicks = () => {
    const button = document.getElementById("compare");
    if (!button) return;
    const ticked = live.querySelectorAll("input:checked").length;
    button.textContent = ticked > 0 ? `Compare ${ticked}` : "Compare";
    button.disabled = ticked === 0;
  };

  /** Rows that did not change stay as they are; those that did keep their tick and the focus. */
  const replaceRows = (html) => {
    const template = document.createElement("template");
    template.innerHTML = html;
    const old = new Map([...live.rows].map((row) => [row.dataset.run, row]));
    const rows = [...template.content.children].map((row) => {
      const before = old.get(row.dataset.run);
      if (before && before.dataset.mark === row.dataset.mark) return before;
      localise(row);
      if (before) row.querySelector("input").checked = before.querySelector("input").checked;
      return row;
    });
    const focused = document.activeElement;
    const place = live.contains(focused) ? [focused.closest("tr").dataset.run, focused.tagName] : null;
    live.replaceChildren(...rows);
    if (place) {
      const row = rows.find((candidate) => candidate.dataset.run === place[0]);
      row?.querySelector(place[1] === "INPUT" ? "input" : "a")?.focus({ preventScroll: true });
    }
    applyFilter();
    countTicks();
  };

  /** Curves are drawn anew; tables that were unfolded stay so. */
  const replacePart = (html) => {
    const open = [...live.querySelectorAll("details")].map((details) => details.open);
    live.innerHTML = html;
    live.querySelectorAll("details").forEach((details, i) => { if (i in open) details.open = open[i]; });
    localise(live);
  };

  const listen = () => {
    const source = new EventSource(`${live.dataset.events}?have=${encodeURIComponent(live.dataset.mark)}`);
    source.addEventListener("open", () => say("Live"));
    source.addEventListener("part", (event) => {
      live.dataset.mark = event.lastEventId;
      if (live.tagName === "TBODY") replaceRows(event.data); else replacePart(event.data);
    });
    source.addEventListener("end", () => { source.close(); location.reload(); });
    source.addEventListener("gone", () => { source.close(); say("This run is no longer there."); });
    source.addEventListener("error", () => {
      say("Not live: waiting for the server");
      if (source.readyState === EventSource.CLOSED) setTimeout(listen, 10000);
    });
    addEventListener("pagehide", () => source.close(), { once: true });
  };

  localise(document);
  if (!live) return;
  if (filter) {
    // The server may have left out rows that the filter did not ask for; the first event brings them.
    if (filter.value !== "") live.dataset.mark = "";
    filter.addEventListener("input", applyFilter);
    live.addEventListener("change", countTicks);
    applyFilter();
    countTicks();
  }
  listen();
  // A page that comes back from the browser's memory has lost its connection.
  addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
})();
