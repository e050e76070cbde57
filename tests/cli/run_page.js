// SPDX-License-Identifier: Apache-2.0
// run_page.js PAGE [PATCH]: runs the program of a page of `sluice bench --report` without a browser, PATCH (JavaScript,
// of `figures` and `timeline`) before it, and prints what it draws.
"use strict";
const fs = require("fs");
const page = fs.readFileSync(process.argv[2], "utf8");
const script = (head) => page.match(new RegExp("<script" + head + ">([^]*?)</script>"))[1];
const data = { figures: JSON.parse(script(' type="application/json" id="figures"')),
    timeline: JSON.parse(script(' type="application/json" id="timeline"')) };
new Function("figures", "timeline", process.argv[3] || "")(data.figures, data.timeline);
const elements = {};
const element = (id) => {
    elements[id] = elements[id] || { innerHTML: "", textContent: data[id] ? JSON.stringify(data[id]) : "", dataset: {} };
    return elements[id];
};
const page_document = { getElementById: element, querySelectorAll: () => [], body: { dataset: {} } };
new Function("document", script(""))(page_document);
if (page_document.body.dataset.drawn !== "yes") throw new Error("it was not drawn to its end");
for (const id of Object.keys(elements)) {
    if (!data[id] && id !== "raw") console.log("== " + id + "\n" + elements[id].innerHTML);
}
