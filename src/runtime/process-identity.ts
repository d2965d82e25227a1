/** Which process: a pid alone is not enough, since pids are used again; pid and start time together are. */

export interface ProcessIdentity {
  readonly pid: number;
  readonly started: string;
}

export const isSameProcess = (a: ProcessIdentity, b: ProcessIdentity): boolean =>
  a.pid === b.pid && a.started === b.started;
