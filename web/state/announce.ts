/** What is said to screen readers, in the tab's title and, if the person allowed it, on the desktop. */
import { signal } from "@preact/signals";

/** Status changes; read when the reader is free. */
export const polite = signal("");
/** Somebody is waited for; read at once. */
export const assertive = signal("");

export function say(text: string): void {
  polite.value = text;
}

export function alarm(text: string): void {
  assertive.value = text;
}

export function setBadge(count: number): void {
  document.title = count === 0 ? "Franca" : `(${count}) Franca`;
}

export const canNotify = (): boolean => typeof Notification !== "undefined";
export const notifying = signal(canNotify() && Notification.permission === "granted");

/** Browsers ask the person; only a click may lead here. */
export async function askToNotify(): Promise<void> {
  if (!canNotify()) return;
  notifying.value = (await Notification.requestPermission()) === "granted";
}

/** On the desktop, while the page is not looked at. */
export function notify({ title, body, open }: { title: string; body: string; open: () => void }): void {
  alarm(`${title}: ${body}`);
  if (!notifying.value || document.hasFocus()) return;
  const shown = new Notification(title, { body, tag: title });
  shown.onclick = () => {
    window.focus();
    open();
    shown.close();
  };
}
