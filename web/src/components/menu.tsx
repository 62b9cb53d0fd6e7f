import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Icon, type IconName } from './icon.tsx';

interface MenuProps {
  readonly label: string;
  readonly icon: IconName;
  readonly children: ComponentChildren;
}

/**
 * A button that shows further ones. Arrow keys, Home, End and first letters go through them; Escape, Tab
 * and a click elsewhere close it.
 */
export function Menu({ label, icon, children }: MenuProps) {
  const [isOpen, setOpen] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  const id = useId();
  const itemsOf = () => [...(root.current?.querySelectorAll<HTMLElement>('[role=menuitem]') ?? [])];
  useLayoutEffect(() => {
    if (!isOpen) return;
    itemsOf()[0]?.focus();
    const close = ({ target }: Event) => {
      if (target instanceof Node && !root.current?.contains(target)) setOpen(false);
    };
    addEventListener('mousedown', close);
    addEventListener('focusin', close);
    return () => {
      removeEventListener('mousedown', close);
      removeEventListener('focusin', close);
    };
  }, [isOpen]);
  const onKeyDown = (event: KeyboardEvent) => {
    if (!isOpen) return;
    if (event.key === 'Escape' || event.key === 'Tab') {
      // Tab goes on from the button: its items are gone by then.
      if (event.key === 'Escape') event.preventDefault();
      root.current?.querySelector('button')?.focus();
      setOpen(false);
      return;
    }
    const next = itemFor(event.key, itemsOf());
    if (next === undefined) return;
    event.preventDefault();
    next.focus();
  };
  return (
    <div class="menu" ref={root} onKeyDown={onKeyDown}>
      <button
        type="button"
        class="quiet"
        aria-haspopup="menu"
        aria-expanded={isOpen}
        aria-controls={id}
        aria-label={label}
        title={label}
        onClick={() => setOpen(!isOpen)}
      >
        <Icon name={icon} />
      </button>
      {isOpen && (
        <div
          role="menu"
          id={id}
          aria-label={label}
          // Before the item acts: it may put the focus elsewhere.
          onClickCapture={() => root.current?.querySelector('button')?.focus()}
          onClick={() => setOpen(false)}
        >
          {children}
        </div>
      )}
    </div>
  );
}

/** Where a key goes from the item that has the focus. */
function itemFor(key: string, items: readonly HTMLElement[]): HTMLElement | undefined {
  const at = items.findIndex((item) => item === document.activeElement);
  switch (key) {
    case 'ArrowDown':
      return items[(at + 1) % items.length];
    case 'ArrowUp':
      return items.at(at - 1);
    case 'Home':
      return items[0];
    case 'End':
      return items.at(-1);
    default: {
      const letter = key.toLowerCase();
      const after = [...items.slice(at + 1), ...items.slice(0, at + 1)];
      return after.find(({ textContent }) => textContent.trim().toLowerCase().startsWith(letter));
    }
  }
}

interface MenuItemProps {
  readonly icon: IconName;
  readonly onClick: () => void;
  readonly children: ComponentChildren;
  readonly isDanger?: boolean;
}

export function MenuItem({ icon, onClick, children, isDanger = false }: MenuItemProps) {
  return (
    <button
      type="button"
      role="menuitem"
      tabIndex={-1}
      class={isDanger ? 'quiet danger' : 'quiet'}
      onClick={onClick}
    >
      <Icon name={icon} />
      {children}
    </button>
  );
}
