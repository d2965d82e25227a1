/** Who imports whom, as a graph of files or of folders, and the circles in it. */
import { dirname } from "node:path";
import type { Source } from "./sources.ts";

/** For each node the nodes it leads to, each with the number of imports. */
export type Graph = ReadonlyMap<string, ReadonlyMap<string, number>>;

/** Files by what they load when the program runs. */
export const fileGraph = (sources: readonly Source[]): Graph =>
  graphOf(
    sources.flatMap(({ path, valueImports }) => valueImports.map((target): Edge => [path, target])),
    sources.map(({ path }) => path),
  );

interface FolderGraphOptions {
  /** Values only, or types as well. */
  readonly by: "value" | "type";
}

/**
 * Folders by the imports of their files; an import inside a folder is its own affair. Types that a folder shares with
 * one inside it do not count: a part may name the contract of the whole.
 */
export function folderGraph(sources: readonly Source[], { by }: FolderGraphOptions): Graph {
  const edges = sources.flatMap(({ path, imports, valueImports }) => {
    const from = dirname(path);
    return (by === "value" ? valueImports : imports).map((target): Edge => [from, dirname(target)]);
  });
  const isCounted = ([from, to]: Edge): boolean => from !== to && (by === "value" || !areNested(from, to));
  return graphOf(
    edges.filter(isCounted),
    sources.map(({ path }) => dirname(path)),
  );
}

const areNested = (left: string, right: string): boolean =>
  `${left}/`.startsWith(`${right}/`) || `${right}/`.startsWith(`${left}/`);

type Edge = readonly [from: string, to: string];

function graphOf(edges: readonly Edge[], nodes: readonly string[]): Graph {
  const graph = new Map(nodes.map((node) => [node, new Map<string, number>()]));
  for (const [from, to] of edges) {
    const targets = graph.get(from);
    targets?.set(to, (targets.get(to) ?? 0) + 1);
  }
  return graph;
}

/** One circle for each node that has any, the shortest, written as `a → b → a`; a circle is named once. */
export function circlesOf(graph: Graph): string[] {
  const circles = new Map<string, string>();
  for (const node of graph.keys()) {
    const circle = shortestCircle(graph, node);
    if (circle !== null) circles.set([...circle].sort().join(), [...circle, node].join(" → "));
  }
  return [...circles.values()];
}

function shortestCircle(graph: Graph, start: string): string[] | null {
  const waiting: (readonly string[])[] = [[start]];
  const seen = new Set<string>();
  for (const path of waiting) {
    for (const next of graph.get(path.at(-1) ?? start)?.keys() ?? []) {
      if (next === start) return [...path];
      if (!seen.has(next)) waiting.push([...path, next]);
      seen.add(next);
    }
  }
  return null;
}

/** One line per folder: `src/core (27) → src/protocol 41`. */
export function describeGraph(graph: Graph, sources: readonly Source[]): string {
  const lines = [...graph.keys()].sort().map((folder) => {
    const files = sources.filter(({ path }) => dirname(path) === folder).length;
    const targets = [...(graph.get(folder) ?? [])].sort(([left], [right]) => left.localeCompare(right));
    return `${folder} (${files}) → ${targets.map(([target, count]) => `${target} ${count}`).join(", ") || "nothing"}`;
  });
  return lines.join("\n");
}
