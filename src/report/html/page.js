
"use strict";
(() => {
  const one = (selector, root = document) => root.querySelector(selector);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];

  // Theme: what the system says, until somebody chooses. A page opened from a file may not be allowed to remember.
  const themes = ["system", "light", "dark"];
  const remembered = (value) => {
    try {
      if (value === undefined) return localStorage.getItem("nochmal-theme") || "system";
      localStorage.setItem("nochmal-theme", value);
    } catch { /* not allowed to remember */ }
    return value || "system";
  };
  const theme = one("#theme");
  let chosen = themes.includes(remembered()) ? remembered() : "system";
  const show = () => {
    if (chosen === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = chosen;
    theme.textContent = "Theme: " + chosen;
  };
  theme.hidden = false;
  theme.addEventListener("click", () => {
    chosen = themes[(themes.indexOf(chosen) + 1) % themes.length];
    remembered(chosen);
    show();
  });
  show();

  // Sorting: up, down, and back to the order of the suite.
  for (const table of all("table.data")) {
    const body = table.tBodies[0];
    const original = [...body.rows];
    const heads = [...table.tHead.rows[0].cells];
    const words = new Intl.Collator(undefined, { numeric: true });
    heads.forEach((head, column) => {
      const button = one(".sort", head);
      if (!button) return;
      button.addEventListener("click", () => {
        const numbers = head.classList.contains("n");
        const next = { none: numbers ? "descending" : "ascending",
          descending: numbers ? "ascending" : "none", ascending: numbers ? "none" : "descending" };
        const order = next[head.getAttribute("aria-sort") || "none"];
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        const rows = [...original];
        if (order !== "none") {
          head.setAttribute("aria-sort", order);
          const sign = order === "ascending" ? 1 : -1;
          const key = (row) => row.cells[column];
          rows.sort((a, b) => sign * (numbers ? Number(key(a).dataset.s) - Number(key(b).dataset.s)
            : words.compare(key(a).textContent, key(b).textContent)));
        }
        body.append(...rows);
      });
    });
  }

  // Filtering: every row carries the numbers of its values, in the order of the selects.
  const filter = one("#filter");
  const selects = filter ? all("select.axis", filter) : [];
  const values = (row) => row.dataset.v.split(",");
  const matches = (row) => {
    const own = values(row);
    return selects.every((select, place) => select.value === "" || select.value === own[place]);
  };
  const cells = all("#cells tr.row");
  const apply = () => {
    for (const row of all(".row")) row.hidden = !matches(row);
    const verdict = one("#verdict").value;
    for (const run of all("details.run")) run.hidden = verdict !== "" && run.dataset.verdict !== verdict;
    if (verdict !== "") {
      for (const cell of all("details.cell")) {
        if (!all("details.run", cell).some((run) => !run.hidden)) cell.hidden = true;
      }
    }
    const shown = cells.filter((row) => !row.hidden).length;
    one("#shown").textContent = shown === cells.length ? "All " + shown + " cells" : shown + " of " + cells.length + " cells";
    heat();
  };

  // The matrix over two axes that the reader chooses. No foreign text is ever read as markup here.
  const down = one("#down");
  const across = one("#across");
  const make = (name, text, attributes = {}) => {
    const element = document.createElement(name);
    element.textContent = text;
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    return element;
  };
  const heading = (text, scope) => {
    const cell = make("th", "", { scope });
    cell.append(make("bdi", text));
    return cell;
  };
  const heat = () => {
    if (!down) return;
    const table = one("#heat");
    const [rows, columns] = [down, across].map((select) =>
      [...selects[Number(select.value)].options].slice(1));
    const sums = new Map();
    for (const row of cells) {
      if (row.hidden) continue;
      const own = values(row);
      const key = own[Number(down.value)] + "," + own[Number(across.value)];
      const sum = sums.get(key) || [0, 0];
      sum[0] += Number(row.dataset.k || 0);
      sum[1] += Number(row.dataset.n || 0);
      sums.set(key, sum);
    }
    const [downName, acrossName] = all("caption span", table);
    downName.textContent = down.selectedOptions[0].textContent;
    acrossName.textContent = across.selectedOptions[0].textContent;
    const head = document.createElement("tr");
    head.append(document.createElement("td"), ...columns.map((option) => heading(option.textContent, "col")));
    table.tHead.replaceChildren(head);
    table.tBodies[0].replaceChildren(...rows.map((row) => {
      const line = document.createElement("tr");
      line.append(heading(row.textContent, "row"), ...columns.map((column) => {
        const sum = sums.get(row.value + "," + column.value);
        if (!sum) return make("td", "\u2013", { class: "none" });
        if (sum[1] === 0) return make("td", "no data", { class: "none" });
        return make("td", sum[0] + " of " + sum[1], { class: "h" + Math.round(sum[0] / sum[1] * 10) });
      }));
      return line;
    }));
  };
  if (filter) {
    filter.hidden = false;
    filter.addEventListener("change", apply);
    filter.addEventListener("submit", (event) => event.preventDefault());
    filter.addEventListener("reset", () => setTimeout(apply));
  }
  if (down) {
    one(".choice").hidden = false;
    // The same axis twice would be a diagonal: the other select takes the one that is left.
    const change = (mine, other, before) => {
      if (mine.value === other.value) other.value = before.get(mine);
      before.set(mine, mine.value).set(other, other.value);
      heat();
    };
    const before = new Map([[down, down.value], [across, across.value]]);
    down.addEventListener("change", () => change(down, across, before));
    across.addEventListener("change", () => change(across, down, before));
  }

  // From a number to its runs: what a link points at is opened, shown and focused.
  const reveal = () => {
    const id = location.hash.slice(1);
    const target = id && document.getElementById(id);
    if (!target) return;
    for (let part = target; part; part = part.parentElement) {
      if (part.tagName === "DETAILS") part.open = true;
      part.hidden = false;
    }
    target.scrollIntoView();
    const summary = one("summary", target);
    if (summary) summary.focus({ preventScroll: true });
  };
  addEventListener("hashchange", reveal);
  document.addEventListener("click", (event) => {
    const link = event.target instanceof Element && event.target.closest("a[href^='#']");
    if (link && link.getAttribute("href") === location.hash) reveal();
  });
  reveal();

  const open = one("#open");
  if (open) {
    open.hidden = false;
    open.addEventListener("click", () => {
      const closed = all("details.cell").filter((cell) => !cell.open);
      for (const cell of closed.length ? closed : all("details.cell")) cell.open = closed.length > 0;
      open.textContent = closed.length ? "Close all cells" : "Open all cells";
    });
  }
})();
