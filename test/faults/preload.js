/**
 * Loaded into a daemon under test before its own code: makes the disk slow or read-only and lets the clock jump. What
 * to do is read from the file in FRANCA_FAULTS whenever SIGUSR2 arrives.
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);
const file = process.env.FRANCA_FAULTS;
const faults = { commitDelayMs: 0, clockOffsetMs: 0, readOnly: false };
const databases = new Set();
const read = () => {
  Object.assign(faults, JSON.parse(readFileSync(file, "utf8")));
  for (const database of databases) setWritable(database);
};
read();
process.on("SIGUSR2", read);

const RealDate = Date;
globalThis.Date = class extends RealDate {
  constructor(...args) {
    super(...(args.length === 0 ? [RealDate.now() + faults.clockOffsetMs] : args));
  }
  static now() {
    return RealDate.now() + faults.clockOffsetMs;
  }
};

const sleeping = new Int32Array(new SharedArrayBuffer(4));
const slowly = (statement) => ({
  run: (...values) => {
    if (faults.commitDelayMs > 0) Atomics.wait(sleeping, 0, 0, faults.commitDelayMs);
    return statement.run(...values);
  },
});

/** SQLite's own refusal, as on a disk that was mounted again to be read only. */
function setWritable(database) {
  try {
    database.exec(`PRAGMA query_only = ${faults.readOnly ? 1 : 0}`);
  } catch {
    // It was closed.
    databases.delete(database);
  }
}

/** Every transaction waits before it is stored, as on a disk that is busy. */
const faulty = ({ DatabaseSync }) =>
  class extends DatabaseSync {
    constructor(...args) {
      super(...args);
      databases.add(this);
      setWritable(this);
    }
    prepare(sql, ...rest) {
      const statement = super.prepare(sql, ...rest);
      return sql === "COMMIT" ? slowly(statement) : statement;
    }
  };

/** Node's own SQLite where it has one, as the daemon does; the package's exports are frozen, and so exchanged whole. */
try {
  const own = require("node:sqlite");
  own.DatabaseSync = faulty(own);
} catch {
  const name = "@photostructure/sqlite";
  const library = require(name);
  require.cache[require.resolve(name)].exports = { ...library, DatabaseSync: faulty(library) };
}
