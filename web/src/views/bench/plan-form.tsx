import { NumberInput } from '../../components/number-input.tsx';
import { type BenchPlan, PLAN_FIELDS, PRESETS } from './plan.ts';

interface PlanFormProps {
  readonly plan: BenchPlan;
  readonly isRunning: boolean;
  readonly onChange: (change: (plan: BenchPlan) => BenchPlan) => void;
}

/** Form for what is to be sent. */
export function PlanForm({ plan, isRunning, onChange }: PlanFormProps) {
  return (
    <fieldset class="plan" disabled={isRunning}>
      <legend class="hidden-text">Load</legend>
      <div class="presets">
        {PRESETS.map((preset) => (
          <button
            key={preset.title}
            type="button"
            aria-pressed={isSame(preset.plan, plan)}
            onClick={() => onChange(() => preset.plan)}
          >
            {preset.title}
          </button>
        ))}
      </div>
      <div class="plan-fields">
        {PLAN_FIELDS.map(({ name, label, note, min, max, step }) => (
          <label key={name} class="field">
            <span>
              {label} <span class="note">{note}</span>
            </span>
            <NumberInput
              value={plan[name]}
              min={min}
              max={max}
              step={step}
              whenEmpty={min}
              onChange={(value) => onChange((now) => ({ ...now, [name]: value }))}
            />
          </label>
        ))}
      </div>
    </fieldset>
  );
}

function isSame(one: BenchPlan, other: BenchPlan): boolean {
  return PLAN_FIELDS.every(({ name }) => one[name] === other[name]);
}
