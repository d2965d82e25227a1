/** What projections put by, for a log that lives in memory. */
import type { SessionId } from "../../../protocol/ids.ts";
import type { ProjectionCheckpoint, ProjectionRecord, Projections, RecordChange } from "../contract.ts";

/** All that one projection of a session has put by. */
export interface Book {
  readonly checkpoints: ProjectionCheckpoint[];
  readonly scopes: Map<string, Map<string, ProjectionRecord>>;
  places: number;
}

interface Shelf {
  readonly last: number;
  readonly books: Map<string, Book>;
}

export function memoryProjections(shelfOf: (id: SessionId) => Shelf): Projections {
  const bookOf = (id: SessionId, name: string): Book => {
    const { books } = shelfOf(id);
    const book = books.get(name) ?? { checkpoints: [], scopes: new Map(), places: 0 };
    books.set(name, book);
    return book;
  };
  return {
    checkpoint: async (id, { name, upTo }) =>
      bookOf(id, name).checkpoints.findLast(({ sequence }) => sequence <= upTo) ?? null,
    async keep(id, name, { after, checkpoint, records }) {
      const book = bookOf(id, name);
      const latest = book.checkpoints.at(-1);
      if (after !== (latest?.sequence ?? 0) || checkpoint.sequence > shelfOf(id).last) return false;
      for (const change of records) apply(book, change);
      if (latest !== undefined) book.checkpoints.pop();
      if (latest !== undefined && latest.sequence !== checkpoint.sequence) {
        book.checkpoints.push({ ...latest, known: null });
      }
      book.checkpoints.push(checkpoint);
      return true;
    },
    clear: async (id, name) => void shelfOf(id).books.delete(name),
    record: async (session, { name, scope, id }) => bookOf(session, name).scopes.get(scope)?.get(id) ?? null,
    async records(session, { name, scope, from, limit }) {
      const all = [...(bookOf(session, name).scopes.get(scope)?.values() ?? [])];
      if ("after" in from) return all.filter(({ place }) => place > from.after).slice(0, limit);
      const before = all.filter(({ place }) => place < from.before);
      return before.slice(Math.max(0, before.length - limit));
    },
  };
}

function apply(book: Book, change: RecordChange): void {
  const { scope } = change;
  if (change.type === "clear") return void book.scopes.delete(scope);
  const records = book.scopes.get(scope) ?? new Map<string, ProjectionRecord>();
  book.scopes.set(scope, records);
  if (change.type === "remove") return void records.delete(change.id);
  book.places += 1;
  const place = records.get(change.id)?.place ?? book.places;
  records.set(change.id, { place, id: change.id, body: change.body });
}
