/** How to find, install and know an agent's program. Agents inside Franca have none. */

export interface Binary {
  /** The command's name on PATH. */
  readonly name: string;
  readonly versionArgs: readonly string[];
  readonly install: Installation;
}

export type Installation =
  /** What `franca agents install` takes. */
  | {
      readonly kind: "npm";
      readonly package: string;
      /** The version that this adapter was tested with: installed unless another is asked for. */
      readonly version: string;
      /**
       * Where the program is below node_modules when install scripts did not run; `{platform}`, `{arch}` are filled in.
       */
      readonly fallbacks: readonly string[];
    }
  /** Franca cannot install it: a sentence that says how a person does. */
  | { readonly kind: "other"; readonly advice: string };
