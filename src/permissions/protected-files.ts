/**
 * Files that run code without being started by a user: settings and hooks of agents, editors, git, shells, CI and
 * tools. A change to one of them needs an explicit approval in every mode but `bypass`. Paths are compared as text; a
 * caller that can resolve symbolic links also checks the real path. Pure.
 */
import { matchesPattern } from "./wildcard.ts";

/** Below any folder. Compared without regard to case: on some file systems `.GIT` is `.git`. */
export const protectedPatterns: Readonly<Record<string, readonly string[]>> = {
  git: [".git", ".git/**", ".gitconfig", ".gitmodules", ".config/git/**"],
  hooks: [".husky/**", ".githooks/**", "{.,}lefthook{-local,}.{yml,yaml,toml,json}", ".pre-commit-config.{yml,yaml}"],
  agents: [
    ".{claude,codex,opencode,gemini,qwen,amp,cursor,windsurf,continue,cline,roo,kiro,copilot,factory,agents,pi,kimi,grok,nanocoder,crush,goose,trae,junie,augment}/**",
    ".{claude,mcp}.json",
    "{opencode,tui}.{json,jsonc}",
    "{agents.config,nanocoder.config,crush}.json",
    ".config/{opencode,amp,franca,goose,crush,nanocoder}/**",
    "franca.config.{json,js,ts}",
    ".aider.conf.{yml,yaml}",
  ],
  editors: [
    ".{vscode,idea,zed,fleet,devcontainer,vim,helix}/**",
    ".{exrc,vimrc,nvimrc,nvim.lua,emacs,dir-locals.el,dir-locals-2.el}",
    "*.code-workspace",
    ".devcontainer.json",
    ".config/{nvim,zed,emacs,Code,helix}/**",
    ".emacs.d/**",
  ],
  ci: [
    ".github/{workflows,actions,hooks}/**",
    ".gitlab-ci.{yml,yaml}",
    ".gitlab/ci/**",
    ".{circleci,buildkite,woodpecker,forgejo,gitea,teamcity}/**",
    ".{travis,drone,appveyor,cirrus}.{yml,yaml}",
    "{appveyor,azure-pipelines,bitbucket-pipelines}.{yml,yaml}",
    "Jenkinsfile",
  ],
  shells: [
    ".{bashrc,bash_profile,bash_login,bash_logout,bash_aliases,profile,kshrc,cshrc,tcshrc,login,logout,inputrc}",
    ".z{shrc,shenv,profile,login,logout}",
    ".{envrc,env.nu,tmux.conf,screenrc,xinitrc,xprofile,xsession,pam_environment}",
    ".config/{fish,nushell,environment.d,systemd,autostart}/**",
    "Library/{LaunchAgents,LaunchDaemons}/**",
  ],
  // Package managers and build tools that load code named in their settings, or run a copy of themselves.
  tools: [
    ".{npmrc,yarnrc,yarnrc.yml,pnpmfile.cjs,mise.toml,tool-versions}",
    ".cargo/config{,.toml}",
    ".ssh/**",
    ".yarn/{releases,plugins,sdks}/**",
    "bunfig.toml",
    ".mvn/**",
    ".{bazelrc,bazeliskrc,mise.local.toml,direnvrc}",
    ".mise/**",
    ".config/{mise,direnv}/**",
    "gradle/wrapper/**",
    ".gradle/init.d/**",
  ],
  // Interpreters, debuggers and database clients that run a file of the folder or the home folder when they start.
  interpreters: [
    ".{Rprofile,Renviron,pdbrc,pythonrc,pythonrc.py,irbrc,pryrc,perldb,psqlrc,sqliterc,my.cnf,gdbinit,lldbinit,ghci,iex.exs}",
    "{sitecustomize,usercustomize}.py",
    ".ipython/**",
  ],
};

/** The same list for agents whose rules know `*` for any characters and nothing else; paths relative to the folder. */
export const protectedWildcards: readonly string[] = Object.values(protectedPatterns)
  .flat()
  .flatMap(expandBraces)
  .map((pattern) => pattern.replace("**", "*"))
  .flatMap((pattern) => [pattern, `*/${pattern}`]);

function expandBraces(pattern: string): string[] {
  const [whole, before = "", inner = "", after = ""] = /^([^{]*)\{([^}]*)\}(.*)$/.exec(pattern) ?? [];
  if (whole === undefined) return [pattern];
  return inner.split(",").flatMap((choice) => expandBraces(before + choice + after));
}

const anywhere = protectedWildcards.filter((pattern) => pattern.startsWith("*/")).map((one) => one.toLowerCase());

/** Only in the home folder: elsewhere these names are ordinary. */
const atHome: readonly string[] = ["bin/*", ".local/bin/*"];

export interface Surroundings {
  /** What relative paths are relative to. */
  readonly directory: string;
  readonly home: string | null;
}

export function runsCode(path: string, { directory, home }: Surroundings): boolean {
  const absolute = plain(resolve(path, { directory, home }));
  if (matchesOne(anywhere, absolute)) return true;
  const base = home === null ? null : `${plain(resolve(home, { directory, home: null }))}/`;
  return base !== null && absolute.startsWith(base) && matchesOne(atHome, absolute.slice(base.length));
}

/** Whether a path leads into a directory, compared as text. */
export function isInside(path: string, directory: string): boolean {
  if (directory === "") return false;
  const surroundings: Surroundings = { directory, home: null };
  return resolve(path, surroundings).startsWith(`${resolve(directory, surroundings)}/`);
}

/** Also matches a folder by what it contains: a copy into `.husky` names only the folder. */
const matchesOne = (patterns: readonly string[], path: string): boolean =>
  patterns.some((pattern) => matchesPattern({ pattern, text: path }) || matchesPattern({ pattern, text: `${path}/` }));

/** Without `.`, `..` and empty names; `~` is home. */
function resolve(path: string, { directory, home }: Surroundings): string {
  const expanded = home !== null && (path === "~" || path.startsWith("~/")) ? home + path.slice(1) : path;
  const names: string[] = [];
  for (const name of (expanded.startsWith("/") ? expanded : `${directory}/${expanded}`).split("/")) {
    if (name === "..") names.pop();
    else if (name !== "" && name !== ".") names.push(name);
  }
  return `/${names.join("/")}`;
}

/** As a file system that ignores case, composition and invisible characters would read it. */
const plain = (path: string): string =>
  path
    .normalize("NFC")
    .replaceAll(/[\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]/g, "")
    .toLowerCase();
