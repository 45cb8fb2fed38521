"use strict";
// Shows the <title> of a mark next to the pointer, at once and on touch, too; without this script the browser's own
// slow tooltip does the same.
(() => {
  const box = document.createElement("div");
  box.id = "hover";
  box.hidden = true;
  document.body.append(box);
  const titled = (target) => {
    const mark = target instanceof Element ? target.closest("figure.chart svg *") : null;
    for (let at = mark; at && at.tagName !== "svg"; at = at.parentElement) {
      const title = at.querySelector(":scope > title");
      if (title) return [at, title];
      if (at.dataset.told) return [at, null];
    }
    return null;
  };
  const show = (event) => {
    const found = titled(event.target);
    if (!found) {
      box.hidden = true;
      return;
    }
    const [mark, title] = found;
    if (title) {
      // The browser would show the same text again, later and elsewhere.
      mark.dataset.told = title.textContent;
      mark.setAttribute("aria-label", title.textContent);
      title.remove();
    }
    box.textContent = mark.dataset.told;
    box.hidden = false;
    const { width, height } = box.getBoundingClientRect();
    const left = Math.min(event.clientX + 14, window.innerWidth - width - 6);
    const top = event.clientY + 18 + height > window.innerHeight ? event.clientY - height - 12 : event.clientY + 18;
    // Set through the style object, which a strict content security policy allows.
    box.style.left = Math.max(4, left) + "px";
    box.style.top = Math.max(4, top) + "px";
  };
  document.addEventListener("pointermove", show);
  document.addEventListener("pointerdown", show);
  document.addEventListener("scroll", () => { box.hidden = true; }, { passive: true });
})();
