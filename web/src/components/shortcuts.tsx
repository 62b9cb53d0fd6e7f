import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { lazy } from './lazy.tsx';

const ShortcutsDialog = lazy(async () => (await import('./shortcuts-dialog.tsx')).ShortcutsDialog);

const isOpen = signal(false);

export function showShortcuts(): void {
  isOpen.value = true;
}

/** The list of shortcuts, which `?` opens where nothing is being typed. */
export function Shortcuts() {
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const isTyped =
        event.target instanceof Element &&
        event.target.closest('input, textarea, select, dialog') !== null;
      if (event.key === '?' && !isTyped && !event.ctrlKey && !event.metaKey) showShortcuts();
    };
    addEventListener('keydown', onKeyDown);
    return () => removeEventListener('keydown', onKeyDown);
  }, []);
  if (!isOpen.value) return null;
  return <ShortcutsDialog onClose={() => (isOpen.value = false)} />;
}
