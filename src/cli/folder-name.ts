/** A folder as a table shows it: from the home folder on; of a long path its end. */

const WIDTH = 30;

export function folderName(path: string): string {
  const home = process.env.HOME ?? "";
  const shown = home !== "" && path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path;
  return shown.length <= WIDTH ? shown : `…${shown.slice(1 - WIDTH)}`;
}
