import { notify } from './notices.tsx';

/** @returns whether the text is on the clipboard; where it is not, the user is told */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Browsers give pages without TLS no clipboard, except those of this machine.
    if (copyBySelection(text)) return true;
    notify('The browser does not allow this page to copy.', true);
    return false;
  }
}

/** The way of old, which works on pages without TLS too. */
function copyBySelection(text: string): boolean {
  const before = document.activeElement;
  const field = document.createElement('textarea');
  field.value = text;
  field.className = 'hidden-text';
  // Out of a modal dialog nothing can be selected.
  (before?.closest('dialog') ?? document.body).append(field);
  field.select();
  try {
    return document.execCommand('copy');
  } catch {
    return false;
  } finally {
    field.remove();
    if (before instanceof HTMLElement) before.focus();
  }
}
