/** What projections store, for a log that lives in memory. */
import type { SessionId } from "../../../protocol/ids.ts";
import type { ProjectionCheckpoint, ProjectionRecord, Projections, RecordChange } from "../contract.ts";

/** All that one projection of a session has stored. */
export interface StoredProjection {
  readonly checkpoints: ProjectionCheckpoint[];
  readonly scopes: Map<string, Map<string, ProjectionRecord>>;
  places: number;
}

interface Stored {
  readonly last: number;
  readonly projections: Map<string, StoredProjection>;
}

export function memoryProjections(storedOf: (id: SessionId) => Stored): Projections {
  const projectionOf = (id: SessionId, name: string): StoredProjection => {
    const { projections } = storedOf(id);
    const projection = projections.get(name) ?? { checkpoints: [], scopes: new Map(), places: 0 };
    projections.set(name, projection);
    return projection;
  };
  return {
    checkpoint: async (id, { name, upTo }) =>
      projectionOf(id, name).checkpoints.findLast(({ sequence }) => sequence <= upTo) ?? null,
    async keep(id, name, { after, checkpoint, records }) {
      const projection = projectionOf(id, name);
      const latest = projection.checkpoints.at(-1);
      if (after !== (latest?.sequence ?? 0) || checkpoint.sequence > storedOf(id).last) return false;
      for (const change of records) apply(projection, change);
      if (latest !== undefined) projection.checkpoints.pop();
      if (latest !== undefined && latest.sequence !== checkpoint.sequence) {
        projection.checkpoints.push({ ...latest, known: null });
      }
      projection.checkpoints.push(checkpoint);
      return true;
    },
    clear: async (id, name) => void storedOf(id).projections.delete(name),
    record: async (session, { name, scope, id }) => projectionOf(session, name).scopes.get(scope)?.get(id) ?? null,
    async records(session, { name, scope, from, limit }) {
      const all = [...(projectionOf(session, name).scopes.get(scope)?.values() ?? [])];
      if ("after" in from) return all.filter(({ place }) => place > from.after).slice(0, limit);
      const before = all.filter(({ place }) => place < from.before);
      return before.slice(Math.max(0, before.length - limit));
    },
  };
}

function apply(projection: StoredProjection, change: RecordChange): void {
  const { scope } = change;
  if (change.type === "clear") return void projection.scopes.delete(scope);
  const records = projection.scopes.get(scope) ?? new Map<string, ProjectionRecord>();
  projection.scopes.set(scope, records);
  if (change.type === "remove") return void records.delete(change.id);
  projection.places += 1;
  const place = records.get(change.id)?.place ?? projection.places;
  records.set(change.id, { place, id: change.id, body: change.body });
}
