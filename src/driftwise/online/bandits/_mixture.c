/* A round of a mixture of memories in few dimensions. `weighing.py` and `memories.py` say what is computed here,
   and `compiled.py` calls it.

   Four memories, or four arms, are the lanes of a vector, and each operation acts on all four. Of symmetric
   matrices the lower triangle is there. */

#define Py_LIMITED_API 0x030B0000 /* one module for all versions of Python from 3.11 on */
#include <Python.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#define LANES 4
typedef double Lanes __attribute__((vector_size(LANES * sizeof(double))));
typedef Py_ssize_t Count;

#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__)
#define FASTEST __attribute__((target_clones("fma", "default"))) /* for the processor that it meets */
#else
#define FASTEST
#endif

typedef struct {
    Count dim, num, blocks, heaviest; /* blocks: vectors that `num` memories need */
    double worst;                     /* as in `LearntNoise` */
    Lanes *rates, *ridges;            /* [blocks] */
    Lanes *gram, *gram_sq, *cross;    /* [blocks, dim, dim], the same or null, [blocks, dim] */
    Lanes *error, *variance;          /* [blocks] of a sample */
    Lanes *room;                      /* [dim, dim + 2] to work in */
    double *held;                     /* [6, blocks * LANES] */
    double *prior, *log_weights, *weights; /* [blocks * LANES] */
} Mixture;

typedef struct {
    double reward, weight, degrees, scale, share; /* as in `Mixture.learn` */
    const double *features;                       /* [dim] */
} Sample;

/* Λ = UᵀU with b and φ as two more columns, which become z = U⁻ᵀb and x = U⁻ᵀφ: the mean is zᵀx, the variance
   xᵀx. False if some matrix has no factor. */
FASTEST static bool forecast(const Mixture *m, const Sample *sample) {
    const Count d = m->dim, width = d + 2;
    Lanes sum = {0};
    for (Count block = 0; block < m->blocks; block++) {
        const Lanes *gram = m->gram + block * d * d, *cross = m->cross + block * d;
        Lanes mean = {0}, variance = {0};
        for (Count k = 0; k < d; k++) {
            Lanes *row = m->room + k * width;
            for (Count i = k; i < d; i++) row[i] = gram[i * d + k];
            row[d] = cross[k];
            row[d + 1] = sample->features[k] + (Lanes){0};
        }
        for (Count k = 0; k < d; k++) {
            Lanes *row = m->room + k * width, inverse = {0};
            for (Count lane = 0; lane < LANES; lane++) inverse[lane] = 1 / sqrt(row[k][lane]);
            for (Count i = k + 1; i < width; i++) row[i] *= inverse;
            for (Count i = k + 1; i < d; i++) {
                Lanes *below = m->room + i * width;
                for (Count c = i; c < width; c++) below[c] -= row[i] * row[c];
            }
            mean += row[d] * row[d + 1];
            variance += row[d + 1] * row[d + 1];
        }
        m->error[block] = sample->reward - mean;
        m->variance[block] = variance;
        sum += variance;
    }
    double total = 0;
    for (Count lane = 0; lane < LANES; lane++) total += sum[lane];
    return total < INFINITY;
}

/* Λ ← ηΛ + φφᵀ + (1−η)λI, Λ̃ with η², and b ← ηb + rφ. */
FASTEST static void absorb(Mixture *m, const Sample *sample) {
    const Count d = m->dim;
    const double *features = sample->features;
    for (Count block = 0; block < m->blocks; block++) {
        const Lanes rate = m->rates[block];
        Lanes *cross = m->cross + block * d;
        for (Count i = 0; i < d; i++) cross[i] = rate * cross[i] + sample->reward * features[i];
        for (int power = 1; power <= (m->gram_sq ? 2 : 1); power++) {
            Lanes *gram = (power == 1 ? m->gram : m->gram_sq) + block * d * d;
            const Lanes kept = power == 1 ? rate : rate * rate, gained = (1 - kept) * m->ridges[block];
            for (Count i = 0; i < d; i++) {
                for (Count k = 0; k <= i; k++)
                    gram[i * d + k] = kept * gram[i * d + k] + features[i] * features[k];
                gram[i * d + i] += gained;
            }
        }
    }
}

/* `LearntNoise.relative_score` and `FixedShare.update`, and what memories hold. Returns the squared error, as
   the weights have it. */
static double weigh(Mixture *m, const Sample *sample) {
    const Count row = m->blocks * LANES;
    const double scale = sample->scale, share = sample->share, power = -0.5 * (sample->degrees + 1);
    const double *rates = (double *)m->rates;
    double *away = (double *)m->error, *posterior = (double *)m->variance; /* both are read, then written */
    double heard = 0, least = INFINITY, total = 0;
    for (Count j = 0; j < m->num; j++) {
        const double doubt = posterior[j] + 1, square = away[j] * away[j] / doubt, rate = rates[j];
        const double kept[] = {rate, rate * rate, rate, rate * rate, rate, 1};
        const double gained[] = {sample->weight, sample->weight, 1, 1, square, square};
        for (Count k = 0; k < 6; k++) m->held[k * row + j] = kept[k] * m->held[k * row + j] + gained[k];
        heard += m->weights[j] * square;
        away[j] = scale > 0 ? log1p(fmin(square / scale, m->worst)) : 0;
        least = fmin(least, away[j]);
        posterior[j] = m->log_weights[j] - (scale > 0 ? 0.5 * log(doubt) : 0);
    }
    for (Count j = 0; j < m->num; j++) {
        posterior[j] = exp(posterior[j] + power * (away[j] - least)); /* some score is near 0 */
        total += posterior[j];
    }
    m->heaviest = 0;
    for (Count j = 0; j < m->num; j++) {
        m->log_weights[j] = log((1 - share) / total * posterior[j] + share * m->prior[j]);
        m->weights[j] = exp(m->log_weights[j]);
        if (m->weights[j] > m->weights[m->heaviest]) m->heaviest = j;
    }
    return heard;
}

/* Upper bounds xᵀΛ⁻¹b + radius ‖x‖ of arms in memory j, with the norm by Λ⁻¹Λ̃Λ⁻¹, or by Λ⁻¹ where there is no Λ̃.
   False if Λ has no factor. */
FASTEST static bool bound(
    const Mixture *m, Count j, double radius, Count num_arms, const double *arms, double *index, double *bonus
) {
    const Count d = m->dim, block = j / LANES, lane = j % LANES;
    const double *gram = (double *)(m->gram + block * d * d) + lane;
    const double *gram_sq = m->gram_sq ? (double *)(m->gram_sq + block * d * d) + lane : NULL;
    const double *cross = (double *)(m->cross + block * d) + lane;
    Lanes *x = m->room;
    double *factor = (double *)(m->room + d); /* U, with 1 over its diagonal */
    for (Count k = 0; k < d; k++)
        for (Count i = k; i < d; i++) factor[k * d + i] = gram[(i * d + k) * LANES];
    for (Count k = 0; k < d; k++) {
        double *row = factor + k * d;
        row[k] = 1 / sqrt(row[k]);
        if (!(row[k] < INFINITY)) return false;
        for (Count i = k + 1; i < d; i++) row[i] *= row[k];
        for (Count i = k + 1; i < d; i++)
            for (Count c = i; c < d; c++) factor[i * d + c] -= row[i] * row[c];
    }
    for (Count first = 0; first < num_arms; first += LANES) {
        const Count some = num_arms - first < LANES ? num_arms - first : LANES;
        Lanes mean = {0}, norm = {0};
        for (Count i = 0; i < d; i++)
            for (Count arm = 0; arm < LANES; arm++) x[i][arm] = arm < some ? arms[(first + arm) * d + i] : 0;
        for (Count k = 0; k < d; k++) { /* U⁻ᵀx */
            x[k] *= factor[k * d + k];
            norm += x[k] * x[k];
            for (Count i = k + 1; i < d; i++) x[i] -= factor[k * d + i] * x[k];
        }
        for (Count k = d - 1; k >= 0; k--) { /* U⁻¹U⁻ᵀx */
            for (Count i = k + 1; i < d; i++) x[k] -= factor[k * d + i] * x[i];
            x[k] *= factor[k * d + k];
            mean += x[k] * cross[k * LANES];
        }
        if (gram_sq) {
            norm = (Lanes){0};
            for (Count i = 0; i < d; i++) {
                Lanes half = 0.5 * gram_sq[(i * d + i) * LANES] * x[i];
                for (Count k = 0; k < i; k++) half += gram_sq[(i * d + k) * LANES] * x[k];
                norm += 2 * half * x[i];
            }
        }
        for (Count arm = 0; arm < some; arm++) {
            bonus[first + arm] = radius * sqrt(fabs(norm[arm]));
            index[first + arm] = mean[arm] + bonus[first + arm];
        }
    }
    return true;
}

/* The numbers of an array, which has to have so many, or NULL and an error. */
static double *numbers_of(PyObject *array, Count num, int flags) {
    Py_buffer view;
    if (PyObject_GetBuffer(array, &view, flags | PyBUF_C_CONTIGUOUS | PyBUF_FORMAT)) return NULL;
    double *numbers = strcmp(view.format, "d") || view.len != num * view.itemsize ? NULL : view.buf;
    PyBuffer_Release(&view); /* the caller holds the array for as long as it is needed */
    if (!numbers) PyErr_Format(PyExc_ValueError, "expected an array of %zd floats of 64 bits", num);
    return numbers;
}

static bool sample_of(PyObject *const *given, Count num, Mixture **m, Sample *sample) {
    if (num != 7) {
        PyErr_SetString(PyExc_TypeError, "expected a mixture, features and five numbers");
        return false;
    }
    *m = PyLong_AsVoidPtr(given[0]);
    if (!*m || !(sample->features = numbers_of(given[1], (*m)->dim, 0))) return false;
    sample->reward = PyFloat_AsDouble(given[2]);
    sample->weight = PyFloat_AsDouble(given[3]);
    sample->degrees = PyFloat_AsDouble(given[4]);
    sample->scale = PyFloat_AsDouble(given[5]);
    sample->share = PyFloat_AsDouble(given[6]);
    return !PyErr_Occurred();
}

static PyObject *learn_forecast(PyObject *module, PyObject *const *given, Count num) {
    (void)module;
    Mixture *m;
    Sample sample;
    if (!sample_of(given, num, &m, &sample)) return NULL;
    const double heard = weigh(m, &sample);
    absorb(m, &sample);
    return PyFloat_FromDouble(heard);
}

static PyObject *learn(PyObject *module, PyObject *const *given, Count num) {
    Mixture *m;
    Sample sample;
    if (!sample_of(given, num, &m, &sample)) return NULL;
    if (!forecast(m, &sample)) Py_RETURN_NONE;
    return learn_forecast(module, given, num);
}

static PyObject *bounds(PyObject *module, PyObject *const *given, Count num) {
    (void)module;
    if (num != 6) {
        PyErr_SetString(PyExc_TypeError, "expected a mixture, a memory, a radius and three arrays");
        return NULL;
    }
    const Mixture *m = PyLong_AsVoidPtr(given[0]);
    const Count j = PyLong_AsSsize_t(given[1]), num_arms = PyObject_Length(given[3]);
    const double radius = PyFloat_AsDouble(given[2]);
    if (!m || PyErr_Occurred()) return NULL;
    const double *arms = numbers_of(given[3], num_arms * m->dim, 0);
    double *index = arms ? numbers_of(given[4], num_arms, PyBUF_WRITABLE) : NULL;
    double *bonus = index ? numbers_of(given[5], num_arms, PyBUF_WRITABLE) : NULL;
    if (!bonus) return NULL;
    if (j < 0 || j >= m->num) return PyErr_Format(PyExc_ValueError, "there is no memory %zd", j);
    return PyBool_FromLong(bound(m, j, radius, num_arms, arms, index, bonus));
}

static PyMethodDef functions[] = {
    {"learn", (PyCFunction)(void (*)(void))learn, METH_FASTCALL,
     "Learn from a sample, and return its squared error; None, and nothing changed, if a matrix has no factor."},
    {"learn_forecast", (PyCFunction)(void (*)(void))learn_forecast, METH_FASTCALL,
     "Learn from a sample whose errors and variances are in their place."},
    {"bounds", (PyCFunction)(void (*)(void))bounds, METH_FASTCALL,
     "Fill the indices and the bonuses of arms in a memory; False if its matrix has no factor."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_mixture", NULL, -1, functions, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__mixture(void) {
    PyObject *made = PyModule_Create(&module);
    if (made && PyModule_AddStringConstant(made, "SOURCE", SOURCE)) Py_CLEAR(made);
    return made;
}
