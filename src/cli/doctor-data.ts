/** What is stored is checked, and what can be repaired is repaired once somebody said so. */
import { examineStorage, repairStorage, type StorageProblem } from "./doctor-storage.ts";

/** Gives what is wrong, after repairs where they were wanted. */
export async function checkStorage(data: string, { yes }: { yes: boolean }): Promise<readonly StorageProblem[]> {
  const found = examineStorage(data);
  const repairable = found.filter((problem) => problem.repairable);
  if (repairable.length === 0) return found;
  for (const { message } of found) process.stderr.write(`storage: ${message}\n`);
  if (!yes && !(await confirmed(repairable.length))) return found;
  const left = repairStorage(data);
  process.stderr.write(`storage: ${found.length - left.length} of ${found.length} problems repaired\n`);
  return left;
}

async function confirmed(number: number): Promise<boolean> {
  if (!(process.stdin.isTTY && process.stderr.isTTY)) {
    process.stderr.write("storage: add --yes to repair what can be repaired\n");
    return false;
  }
  const { confirm } = await import("@clack/prompts");
  const answer = await confirm({
    message: `Repair ${number === 1 ? "what can be repaired" : `${number} of these`}? No event is lost by it.`,
    initialValue: false,
    output: process.stderr,
  });
  return answer === true;
}
