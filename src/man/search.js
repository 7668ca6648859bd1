/* SPDX-License-Identifier: MIT */
/* The search box of the manual's pages. `names` (names.js): name, section, file, summary of each. */
"use strict";

/* How well a name answers the words; 0: not at all. Each word must be somewhere. */
function answers(entry, words)
{
	var name = entry[0].toLowerCase(), summary = entry[3].toLowerCase(), sum = 0;

	for (var word of words) {
		if (name === word || name === "baton_" + word || name === "baton-" + word)
			sum += 8;
		else if (name.startsWith(word) || name.startsWith("baton_" + word))
			sum += 4;
		else if (name.includes(word))
			sum += 2;
		else if (summary.includes(word))
			sum += 1;
		else
			return 0;
	}
	return sum;
}

/* The names that answer the query, the best first, of equal ones the shortest. */
function find(query)
{
	var words = query.toLowerCase().replace(/[(][137]?[)]/g, "").split(/\s+/).filter(Boolean);

	return names.map(function (entry) { return [answers(entry, words), entry]; })
		.filter(function (found) { return words.length && found[0]; })
		.sort(function (a, b) { return b[0] - a[0] || a[1][0].length - b[1][0].length; })
		.map(function (found) { return found[1]; });
}

function show(list, entries)
{
	list.replaceChildren();
	for (var entry of entries.slice(0, 20)) {
		var item = document.createElement("li"), link = document.createElement("a");

		link.href = entry[2];
		link.textContent = entry[0] + "(" + entry[1] + ")";
		item.append(link, " " + entry[3]);
		list.append(item);
	}
}

if (typeof document !== "undefined") {
	var box = document.getElementById("search"), list = document.getElementById("found");

	box.addEventListener("input", function () { show(list, find(box.value)); });
	box.addEventListener("keydown", function (event) {
		var found = find(box.value);

		if (event.key === "Enter" && found.length)
			location.href = found[0][2];
	});
}
