/**
 * Loaded into a daemon under test before its own code: makes the disk slow and lets the clock jump. What to do is read
 * from the file in FRANCA_FAULTS whenever SIGUSR2 arrives.
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);
const file = process.env.FRANCA_FAULTS;
const faults = { commitDelayMs: 0, clockOffsetMs: 0 };
const read = () => Object.assign(faults, JSON.parse(readFileSync(file, "utf8")));
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
slowDown("@photostructure/sqlite");

/** Every transaction waits before it is stored, as on a disk that is busy. The library's own class is frozen. */
function slowDown(name) {
  const library = require(name);
  class SlowDatabase extends library.DatabaseSync {
    prepare(sql, ...rest) {
      const statement = super.prepare(sql, ...rest);
      return sql === "COMMIT" ? slowly(statement) : statement;
    }
  }
  require.cache[require.resolve(name)].exports = { ...library, DatabaseSync: SlowDatabase };
}
