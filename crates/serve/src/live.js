"use strict";
// Updates an open page: replaces parts of it by HTML that the server sends.
// Without this script every page works and shows the state at the time when it was loaded.
(() => {
  const live = document.querySelector("[data-events]");
  const connection = document.getElementById("connection");
  const filter = document.getElementById("filter");
  const showStatus = (text) => { if (connection && connection.textContent !== text) connection.textContent = text; };

  /** Shows times in the local time zone. */
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

  /** Shows the number of ticked runs. */
  const countTicks = () => {
    const button = document.getElementById("compare");
    if (!button) return;
    const ticked = live.querySelectorAll("input:checked").length;
    button.textContent = ticked > 0 ? `Compare ${ticked}` : "Compare";
    button.disabled = ticked === 0;
  };

  /** Replaces the rows that changed; they keep their tick and the focus. */
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

  /** Replaces the curves; open tables stay open. */
  const replacePart = (html) => {
    const open = [...live.querySelectorAll("details")].map((details) => details.open);
    live.innerHTML = html;
    live.querySelectorAll("details").forEach((details, i) => { if (i in open) details.open = open[i]; });
    localise(live);
  };

  const listen = () => {
    const source = new EventSource(`${live.dataset.events}?have=${encodeURIComponent(live.dataset.mark)}`);
    source.addEventListener("open", () => showStatus("Live"));
    source.addEventListener("part", (event) => {
      live.dataset.mark = event.lastEventId;
      if (live.tagName === "TBODY") replaceRows(event.data); else replacePart(event.data);
    });
    source.addEventListener("end", () => { source.close(); location.reload(); });
    source.addEventListener("gone", () => { source.close(); showStatus("This run is no longer there."); });
    source.addEventListener("error", () => {
      showStatus("Not live: waiting for the server");
      if (source.readyState === EventSource.CLOSED) setTimeout(listen, 10000);
    });
    addEventListener("pagehide", () => source.close(), { once: true });
  };

  localise(document);
  if (!live) return;
  if (filter) {
    // With a filter the server sent only the matching rows; the first event brings the others.
    if (filter.value !== "") live.dataset.mark = "";
    filter.addEventListener("input", applyFilter);
    live.addEventListener("change", countTicks);
    applyFilter();
    countTicks();
  }
  listen();
  // A page restored from the back/forward cache has lost its connection.
  addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
})();
