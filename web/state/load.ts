/** Adapters and projections, which only some screens need: loaded when they are first asked for. */
import type { Adapter } from "../../src/core/adapter.ts";
import type { Lane } from "../../src/core/lanes.ts";

/** The lane of every projection that has one. */
export async function loadLanes(): Promise<readonly Lane[]> {
  const { projections } = await import("../../src/projections/index.ts");
  return projections.flatMap(({ lane }) => (lane === null ? [] : [lane]));
}

export async function loadMarkdown(): Promise<typeof import("../../src/projections/markdown/index.ts")> {
  return import("../../src/projections/markdown/index.ts");
}

interface Conversion {
  readonly adapters: readonly Adapter[];
  readonly openConverter: typeof import("../../src/core/convert.ts")["openConverter"];
}

export async function loadConverter(): Promise<Conversion> {
  const [{ adapters }, { openConverter }] = await Promise.all([
    import("../../src/adapters/index.ts"),
    import("../../src/core/convert.ts"),
  ]);
  return { adapters, openConverter };
}
