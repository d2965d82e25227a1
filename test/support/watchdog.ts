/**
 * Fails a test whose server held the event loop for longer than anything may: a hang, not a slow moment. Counted is the
 * time this process computed meanwhile, so that a busy machine is no hang.
 */
import { expect, onTestFinished } from "vitest";

const BLOCK_MS = 2_000;
const TICK_MS = 50;

let watching = 0;
let longest = 0;
let last = 0;
let lastCpu = 0;
let timer: NodeJS.Timeout | undefined;

/** Watches until the test is over. Several servers of one test are watched by one clock. */
export function watchLoop(): void {
  if (watching === 0) {
    longest = 0;
    last = performance.now();
    lastCpu = cpuMs();
    timer = setInterval(tick, TICK_MS);
  }
  watching += 1;
  onTestFinished(() => {
    tick();
    watching -= 1;
    if (watching === 0) clearInterval(timer);
    expect(longest, "the event loop was blocked, in ms").toBeLessThan(BLOCK_MS);
  });
}

function tick(): void {
  const now = performance.now();
  const cpu = cpuMs();
  longest = Math.max(longest, Math.min(now - last, cpu - lastCpu));
  last = now;
  lastCpu = cpu;
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}
