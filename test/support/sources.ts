/** Our own sources, parsed: what the tidy test looks at. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import ts from "typescript";
import { root } from "./transcripts.ts";

export interface Source {
  /** From the repository's root, with slashes. */
  readonly path: string;
  /** The folder below src/, or the top folder: `core`, `cli`, `web`, `test`… */
  readonly layer: string;
  readonly text: string;
  readonly lines: readonly string[];
  /** Imported files of ours, as paths from the root. */
  readonly imports: readonly string[];
  /** Those of them that are loaded when the program runs: all but `import type`. */
  readonly valueImports: readonly string[];
  /** Imported packages and Node modules. */
  readonly packages: readonly string[];
  readonly tree: ts.SourceFile;
}

const folders = ["src", "web", "test", "bench", "scripts", "bin"];
const skipped = new Set(["node_modules", "dist", "data"]);

export const sources: readonly Source[] = folders.flatMap(listFiles).map(readSource);

export const sourcesIn = (...layers: readonly string[]): readonly Source[] =>
  sources.filter(({ layer }) => layers.includes(layer));

/** Every node of a file with the line span it takes. */
export function* nodesOf({ tree }: Source): Generator<ts.Node> {
  const waiting: ts.Node[] = [tree];
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    yield node;
    ts.forEachChild(node, (child) => void waiting.push(child));
  }
}

export function spanOf({ tree }: Source, node: ts.Node): { readonly first: number; readonly count: number } {
  const first = tree.getLineAndCharacterOfPosition(node.getStart(tree)).line;
  const last = tree.getLineAndCharacterOfPosition(node.getEnd()).line;
  return { first: first + 1, count: last - first + 1 };
}

function listFiles(folder: string): string[] {
  if (!existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return skipped.has(entry.name) ? [] : listFiles(path);
    return /\.(ts|tsx|js)$/.test(entry.name) ? [path] : [];
  });
}

function readSource(path: string): Source {
  const text = readFileSync(join(root, path), "utf8");
  const tree = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const imports = importsOf(tree);
  const targets = imports.map(({ target }) => target);
  const own = imports.filter(({ target }) => target.startsWith("."));
  const [top = "", second = ""] = path.split("/");
  return {
    path,
    layer: top === "src" ? second : top,
    text,
    lines: text.split("\n"),
    imports: own.map(({ target }) => resolve(path, target)),
    valueImports: own.filter(({ isType }) => !isType).map(({ target }) => resolve(path, target)),
    packages: targets.filter((target) => !target.startsWith(".")),
    tree,
  };
}

interface Import {
  readonly target: string;
  /** Erased by the compiler: nothing is loaded for it. */
  readonly isType: boolean;
}

/** Static imports, re-exports, `import("…")` and types written as `import("…").Name`. */
function importsOf(tree: ts.SourceFile): Import[] {
  const out: Import[] = [];
  const visit = (node: ts.Node): void => {
    const target = targetOf(node);
    if (target !== undefined && ts.isStringLiteral(target)) out.push({ target: target.text, isType: isTypeOnly(node) });
    ts.forEachChild(node, visit);
  };
  visit(tree);
  return out;
}

function targetOf(node: ts.Node): ts.Node | undefined {
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return node.moduleSpecifier;
  if (ts.isImportTypeNode(node)) return ts.isLiteralTypeNode(node.argument) ? node.argument.literal : undefined;
  const isCall = ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword;
  return isCall ? node.arguments[0] : undefined;
}

function isTypeOnly(node: ts.Node): boolean {
  if (ts.isImportDeclaration(node)) return node.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword;
  return ts.isImportTypeNode(node) || (ts.isExportDeclaration(node) && node.isTypeOnly);
}

function resolve(from: string, target: string): string {
  return relative(root, join(root, dirname(from), target));
}
