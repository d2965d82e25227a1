/** `franca doctor` looks at what is stored too: every group is read and compared with its checksum. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { ApiError } from "../protocol/errors.ts";
import { describeDamage } from "../runtime/log/damage.ts";
import { LOG_FILE, openSqliteLog } from "../runtime/log/sqlite/open.ts";
import { version } from "../server/version.ts";

/** What is wrong with the log of a data folder, a sentence each; a folder without a log is all right. */
export async function examineStorage(folder: string): Promise<readonly string[]> {
  if (!existsSync(join(folder, LOG_FILE))) return [];
  const found: string[] = [];
  try {
    const log = openSqliteLog({ folder, durability: "normal", version });
    try {
      for await (const damage of log.verify()) found.push(describeDamage(damage));
    } finally {
      await log.close();
    }
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    found.push(error.message);
  }
  return found;
}
