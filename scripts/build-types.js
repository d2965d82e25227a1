/**
 * The types of the package: the declarations that its entries reach, and those of the client in one file that needs
 * nothing else. In that file, types that come from a zod schema are written out with their names and descriptions.
 */
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import ts from "typescript";
import { bundle } from "./bundle.js";
import { run, tool } from "./ensure.js";
import { schemaPrinter } from "./schema-types.js";

const ENTRIES = ["protocol/index.d.ts", "server/index.d.ts", "server/rules.d.ts"];
/** The sources of the client's declarations, each before those that use it. */
const CLIENT_FOLDERS = ["protocol", "sdk"];

/** Gives the client's types for a package that must be small: without the descriptions of fields. */
export async function writeTypes(dist) {
  const types = join(dist, "types");
  rmSync(types, { recursive: true, force: true });
  run(tool("tsc"), ["-p", "tsconfig.build.json"]);
  const { descriptions } = await import(pathToFileURL(await bundle("src/protocol/descriptions/index.ts")).href);
  // The whole is in the CommonJS file: an ES module can repeat it, the other way round it cannot.
  writeFileSync(join(dist, "sdk.d.cts"), await clientTypes(dist, descriptions));
  writeFileSync(join(dist, "sdk.d.ts"), 'export * from "./sdk.cjs";\n');
  const small = await clientTypes(dist, null);
  removeUnreached(types);
  makeSmall(types);
  return small;
}

/** Only what the entries import is part of the package. */
function removeUnreached(types) {
  const reached = new Set();
  const waiting = ENTRIES.map((entry) => join(types, entry));
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (reached.has(file)) continue;
    reached.add(file);
    for (const name of importsOf(readFileSync(file, "utf8"))) {
      const target = join(dirname(file), name.replace(/\.[jt]s$/, ".d.ts"));
      if (existsSync(target)) waiting.push(target);
    }
  }
  for (const name of readdirSync(types, { recursive: true, encoding: "utf8" })) {
    if (name.endsWith(".d.ts") && !reached.has(join(types, name))) rmSync(join(types, name));
  }
}

/** Comments behind the types of the entries are for readers of the source. Levels of tsc's indentation become tabs. */
function makeSmall(types) {
  for (const name of readdirSync(types, { recursive: true, encoding: "utf8" })) {
    if (!name.endsWith(".d.ts")) continue;
    const file = join(types, name);
    const text = readFileSync(file, "utf8");
    const kept = /^(protocol|server)\//.test(name) ? text : withoutComments(text);
    writeFileSync(
      file,
      kept.replaceAll(/^(?: {4})+/gm, (spaces) => "\t".repeat(spaces.length / 4)),
    );
  }
}

const withoutComments = (text) => text.replace(/^ *\/\*\*[\s\S]*?\*\/\n/gm, "");

const importsOf = (text) => [...text.matchAll(/(?:from |import\()"(\.[^"]+)"/g)].map(([, name]) => name);

/** Without descriptions only the client itself keeps its comments. */
async function clientTypes(dist, descriptions) {
  const protocol = await import(pathToFileURL(join(dist, "protocol.js")).href);
  const printer = schemaPrinter(protocol, descriptions ?? {});
  const declared = new Map();
  for (const folder of CLIENT_FOLDERS) {
    const path = join(dist, "types", folder);
    for (const file of readdirSync(path).filter((name) => name.endsWith(".d.ts"))) {
      const source = parse(join(path, file));
      const keepsComments = descriptions !== null || folder === "sdk";
      for (const one of declarationsOf(source, printer)) {
        const text = keepsComments ? one.text : withoutComments(one.text);
        declared.set(one.name, { ...one, text });
      }
    }
  }
  // A schema that only others use has no type of its own in the sources.
  for (const name of printer.names) {
    const text = printer.print(name);
    if (!declared.has(name)) declared.set(name, { name, text, uses: namesIn(text) });
  }
  const exported = new Set(exportedNames(join(dist, "types", "sdk", "index.d.ts")));
  const needed = reachable(declared, exported);
  const texts = [...declared.values()]
    .filter(({ name }) => needed.has(name))
    .map(({ name, text }) => (exported.has(name) ? `export ${text}` : text));
  const text = ["/** Franca's client. */", ...texts, "export {};\n"].join("\n");
  return descriptions === null ? text.replaceAll(/^ +/gm, "") : text;
}

const parse = (file) => ts.createSourceFile(file, readFileSync(file, "utf8"), ts.ScriptTarget.Latest, true);

/** Types and functions of one file, with the names they use. A type made of a schema is printed from the schema. */
function declarationsOf(source, printer) {
  return source.statements.flatMap((node) => {
    const [only] = ts.isVariableStatement(node) ? node.declarationList.declarations : [node];
    if (only?.name === undefined || ts.isModuleDeclaration(node)) return [];
    const name = only.name.getText(source);
    const isSchema = /\bz\.(infer|Zod)|\$brand</.test(node.getText(source));
    if (isSchema && !ts.isTypeAliasDeclaration(node)) return [];
    const text = isSchema ? printer.print(name) : plainText(node, source);
    return [{ name, text, uses: namesIn(text) }];
  });
}

const plainText = (node, source) =>
  `${commentOf(node, source)}${node.getText(source).replace(/^export /, "")}`.replaceAll(/^ {4,}/gm, (spaces) =>
    " ".repeat(spaces.length / 2),
  );

function commentOf(node, source) {
  const text = source.getFullText();
  const last = (ts.getLeadingCommentRanges(text, node.getFullStart()) ?? []).at(-1);
  // The first comment of a file is about the file.
  return last === undefined || last.pos === 0 ? "" : `${text.slice(last.pos, last.end)}\n`;
}

/** Types begin with a capital; a constant is used by its type only. */
const namesIn = (text) => text.replaceAll(/\/\*[\s\S]*?\*\//g, "").match(/\b[A-Z]\w*\b|(?<=typeof )\w+/g) ?? [];

/** `export type *` of a file stands for all types of that file. */
function exportedNames(index) {
  return parse(index).statements.flatMap((node) => {
    if (!ts.isExportDeclaration(node)) return [];
    if (node.exportClause !== undefined && ts.isNamedExports(node.exportClause)) {
      return node.exportClause.elements.map(({ name }) => name.text);
    }
    const target = join(dirname(index), node.moduleSpecifier.text.replace(/\.[jt]s$/, ".d.ts"));
    return parse(target).statements.flatMap((one) =>
      ts.isTypeAliasDeclaration(one) || ts.isInterfaceDeclaration(one) ? [one.name.text] : [],
    );
  });
}

function reachable(declared, from) {
  const reached = new Set();
  const waiting = [...from];
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    if (reached.has(name) || !declared.has(name)) continue;
    reached.add(name);
    waiting.push(...declared.get(name).uses);
  }
  return reached;
}
