/** How to find, install and know an agent's program. */

/** How to find, install and know the agent's binary. */
export interface Binary {
  /** The command's name on PATH. */
  readonly name: string;
  /** The npm package that `franca agents install` takes. */
  readonly package: string;
  /** Where the program is below node_modules when install scripts did not run; `{platform}`, `{arch}` are filled in. */
  readonly fallbacks: readonly string[];
  readonly versionArgs: readonly string[];
  /** Environment variables of which one suffices to run. */
  readonly credentialEnv: readonly string[];
  /** Files below HOME that hold a login. */
  readonly credentialFiles: readonly string[];
}
