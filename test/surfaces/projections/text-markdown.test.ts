/** Markdown in the terminal: the same whatever pieces it comes in, and nothing of it lost. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { openMarkdown, paintFor } from "../../../src/projections/text/index.ts";

const plain = paintFor({ color: false });

function rendered(pieces: readonly string[], { width = 60, color = false } = {}): string {
  const markdown = openMarkdown({ paint: color ? paintFor({ color }) : plain, width });
  return pieces.map(markdown.push).join("") + markdown.end();
}

/** Spaces at the end of a line cannot be seen. */
const seen = (text: string): string => text.replaceAll(/ +$/gm, "");

const document = `# Result

Some **bold text**, \`code\` and a [link](https://example.org) in a sentence that is longer than a line of the screen.

- first entry
- second entry, which is long enough to wrap around the edge of the screen and goes on
1. one

\`\`\`ts
const a = "**not bold**";
\`\`\`

| Name | What |
|---|---|
| \`run\` | runs **it** and says how it ended, in more words than fit into one line |

> a quote
---
2 * 3 * 4 = 24, and snake_case_name stays.
the end`;

test("headings, lists, code, quotes and tables", () => {
  expect(seen(rendered([document]))).toBe(`Result

Some bold text, code and a link (https://example.org) in a
sentence that is longer than a line of the screen.

• first entry
• second entry, which is long enough to wrap around the edge
  of the screen and goes on
1. one

  ts
  const a = "**not bold**";

Name  What
────  ──────────────────────────────────────────────────────
run   runs it and says how it ended, in more words than fit
      into one line

│ a quote
────────────────────────────────────────
2 * 3 * 4 = 24, and snake_case_name stays.
the end
`);
});

test("the pieces it comes in make no difference", () => {
  const whole = seen(rendered([document]));
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 60 }), (sizes) => {
      const pieces: string[] = [];
      let rest = document;
      for (const size of sizes) {
        pieces.push(rest.slice(0, size));
        rest = rest.slice(size);
      }
      expect(seen(rendered([...pieces, rest]))).toBe(whole);
    }),
  );
});

test("words appear before their line is complete", () => {
  const markdown = openMarkdown({ paint: plain, width: 60 });
  expect(markdown.push("The answer is **for")).toBe("The answer is ");
  expect(markdown.push("ty two** and")).toBe("forty two ");
});

test("nothing an agent writes is lost, whatever it is", () => {
  const letters = (text: string): string => text.replaceAll(/[^a-z0-9]/g, "");
  const line = fc.string({ unit: fc.constantFrom(..."ab1 *`#>|-[]()\n") });
  fc.assert(
    fc.property(line, (text) => {
      expect(letters(rendered([text]))).toBe(letters(text));
    }),
  );
});
