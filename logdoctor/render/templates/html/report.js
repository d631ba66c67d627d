(() => {
  "use strict";
  const words = document.body.dataset;
  const button = (text, act) => {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = text;
    made.addEventListener("click", () => act(made));
    return made;
  };
  const put = (text) => {
    if (navigator.clipboard) return navigator.clipboard.writeText(text);
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
    return Promise.resolve();
  };
  const copies = (text) => {
    const made = button("", (self) => put(text).then(() => {
      self.textContent = "✓";
      self.title = words.copied;
      setTimeout(() => { self.textContent = ""; self.title = words.copy; }, 1500);
    }).catch(() => {}));
    made.className = "copy";
    made.title = words.copy;
    made.setAttribute("aria-label", `${words.copy}: ${text.slice(0, 60)}`);
    return made;
  };
  for (const command of document.querySelectorAll(".command")) command.append(copies(command.textContent));
  const folds = [...document.querySelectorAll("main details")];
  if (folds.length > 1) {
    const all = button(words.unfold, (self) => {
      const open = self.textContent === words.unfold;
      for (const one of folds) one.open = open;
      self.textContent = open ? words.fold : words.unfold;
    });
    document.querySelector("nav")?.append(all);
  }
  for (const table of document.querySelectorAll("table.filtered")) {
    const label = document.createElement("label");
    const field = document.createElement("input");
    const count = document.createElement("output");
    field.type = "search";
    label.className = "filter";
    label.append(`${words.filter} `, field, " ", count);
    table.before(label);
    const rows = [...table.tBodies[0].rows].map((row) => [row, row.textContent.toLowerCase()]);
    field.addEventListener("input", () => {
      const wanted = field.value.trim().toLowerCase();
      let shown = 0;
      for (const [row, text] of rows) {
        row.hidden = !text.includes(wanted);
        shown += row.hidden ? 0 : 1;
      }
      count.value = wanted ? `${shown} / ${rows.length} ${words.found}` : "";
    });
  }
})();
