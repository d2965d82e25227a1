/** Signals and broken pipes, as two calls: the person's Ctrl-C, and everybody else's request to end. */

export interface SignalHandlers {
  readonly interrupt: () => void;
  readonly terminate: () => void;
}

/** Gives the function that lets go of the signals again. */
export function onSignals({ interrupt, terminate }: SignalHandlers): () => void {
  // The reader of our output has left: there is nobody to work for.
  const onPipe = (error: NodeJS.ErrnoException): void => {
    if (error.code === "EPIPE") terminate();
    else throw error;
  };
  process.on("SIGINT", interrupt);
  process.on("SIGTERM", terminate);
  process.on("SIGHUP", terminate);
  process.stdout.on("error", onPipe);
  return () => {
    process.off("SIGINT", interrupt);
    process.off("SIGTERM", terminate);
    process.off("SIGHUP", terminate);
    process.stdout.off("error", onPipe);
  };
}
