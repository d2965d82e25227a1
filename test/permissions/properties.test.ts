/** Properties of the shell parser: quoting is safe, it never throws, and its work is linear in the line. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseShellCommand } from "../../src/permissions/shell-command.ts";

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

test("a quoted text is one argument and never another command", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 60 }), (text) => {
      const { commands } = parseShellCommand(`echo ${quoted(text)}`);
      expect(commands.map((one) => one.text)).toEqual([`echo ${text}`]);
    }),
    { numRuns: 2_000 },
  );
});

const piece = fc.constantFrom(
  ..."a b touch $ ( ) $( $(( )) ` ' \" \\ \n ; & && || | < > << <<< {a,b} { } # ! * ? [ ] = ~ / EOF ${ case esac in".split(
    " ",
  ),
  " ",
  "\t",
);

test("any text is parsed without an error", () => {
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
      const { commands, paths } = parseShellCommand(pieces.join(""));
      expect([commands.length, paths.length].every(Number.isInteger)).toBe(true);
    }),
    { numRuns: 5_000 },
  );
});

test("a command after a complete one is always found", () => {
  const complete = fc.constantFrom("echo a", "ls 'x y'", 'cat "a"', "(true)", "{ true; }", "git status", "true | cat");
  const joint = fc.constantFrom(";", "&&", "||", "|", "&", "\n", " ; ", "\n\n", "|&");
  fc.assert(
    fc.property(fc.array(fc.tuple(complete, joint), { minLength: 1, maxLength: 8 }), (list) => {
      const line = `${list.map(([command, by]) => command + by).join("")}touch x`;
      expect(parseShellCommand(line).commands.map(({ text }) => text)).toContain("touch x");
    }),
  );
});

describe("the work is linear in the length of the line", () => {
  test.each([
    "a ",
    "a;",
    "$(",
    "$((",
    "((",
    "`",
    "${",
    "'",
    '"$(',
    "\\",
    "<<A\n",
    "cd a;",
    "env ",
    "sh -c '",
    "eval ",
    "x=(",
    "case a in a)",
    "a[",
    "~:",
    "{a,",
    "/../",
    "a=b:c,",
    "echo $((1+",
    "xargs -n1 ",
  ])("%j repeated", (text) => {
    const stepsAt = (size: number): number => {
      const meter = { steps: 0 };
      parseShellCommand(text.repeat(Math.ceil(size / text.length)), meter);
      return meter.steps;
    };
    expect(stepsAt(100_000)).toBeLessThan(70 * 100_000 + 20_000);
  });
});
