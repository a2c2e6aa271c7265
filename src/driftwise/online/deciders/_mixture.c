/* A mixture of memories in few dimensions. `compiled.py` is its Python side; NumPy's form is its definition.

   A `Mixture` allocates all its memory, checks every argument, and frees the memory with itself. Nothing
   outside points into it but the read-only view of its statistics, which keeps it alive.

   Four memories, or four arms, are the lanes of a vector, and each operation acts on all four. Lanes left
   over repeat the first memory and have no weight. Of symmetric matrices the lower triangle is stored. */

#define Py_LIMITED_API 0x030B0000 /* one module for all versions of Python from 3.11 on */
#include <Python.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define INTERFACE 2 /* raised with every change of what Python sees; as in `compiled.py` */
#define LANES 4
#define MOST 32768 /* memories or dimensions: products of sizes stay far below the largest `Count` */
typedef double Lanes __attribute__((vector_size(LANES * sizeof(double))));
typedef Py_ssize_t Count;

#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__)
#define FASTEST __attribute__((target_clones("fma", "default"))) /* for the processor that it meets */
#else
#define FASTEST
#endif

enum { STATS = 6, ROWS = STATS + 2 }; /* rows: statistics, logarithms of weights, weights */

typedef struct {
    PyObject_HEAD
    Count dim, num, blocks, heaviest; /* blocks: vectors that `num` memories need */
    double worst;                     /* as in `LearntNoise` */
    void *memory;                     /* in which all arrays lie */
    Lanes *rates, *ridges;            /* [blocks] */
    Lanes *gram, *gram_sq, *cross;    /* [blocks, dim, dim], the same or null, [blocks, dim] */
    Lanes *error, *variance;          /* [blocks] of a sample */
    Lanes *work;                      /* [dim + 1, dim + 2] */
    double *prior;                    /* [num] */
    double *stats;                    /* [STATS, num] Σω, Σω² of samples, of errors; sums of squares */
    double *log_weights, *weights;    /* [num] right behind them */
} Mixture;

typedef struct {
    double reward, weight, degrees, scale, share, limit; /* as in `learn` of the Python side */
    const double *features;                              /* [dim] */
} Sample;

typedef struct {
    double radius, variance; /* as in `Width` of the Python side */
    const double *waiting;   /* [dim, dim] or null */
} Width;

/* Λ = UᵀU with b and φ as two more columns, which become z = U⁻ᵀb and x = U⁻ᵀφ: the mean is zᵀx, the variance
   xᵀx. False if some matrix has no factor. */
FASTEST static bool forecast(const Mixture *m, const Sample *sample) {
    const Count d = m->dim, width = d + 2;
    Lanes sum = {0};
    for (Count block = 0; block < m->blocks; block++) {
        const Lanes *gram = m->gram + block * d * d, *cross = m->cross + block * d;
        Lanes mean = {0}, variance = {0};
        for (Count k = 0; k < d; k++) {
            Lanes *row = m->work + k * width;
            for (Count i = k; i < d; i++) row[i] = gram[i * d + k];
            row[d] = cross[k];
            row[d + 1] = sample->features[k] + (Lanes){0};
        }
        for (Count k = 0; k < d; k++) {
            Lanes *row = m->work + k * width, inverse = {0};
            for (Count lane = 0; lane < LANES; lane++) inverse[lane] = 1 / sqrt(row[k][lane]);
            for (Count i = k + 1; i < width; i++) row[i] *= inverse;
            for (Count i = k + 1; i < d; i++) {
                Lanes *below = m->work + i * width;
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

/* Move the reward to where the error of the heaviest memory is no outlier. */
static void clip(Mixture *m, Sample *sample) {
    double *errors = (double *)m->error;
    const double error = errors[m->heaviest], doubt = ((double *)m->variance)[m->heaviest] + 1;
    const double most = sample->limit < INFINITY ? sample->limit * sqrt(doubt) : INFINITY;
    if (!(fabs(error) > most)) return;
    const double excess = copysign(most, error) - error;
    for (Count j = 0; j < m->num; j++) errors[j] += excess;
    sample->reward += excess;
}

/* Set the weights, and the first of the largest, from the logarithms. */
static void find_weights(Mixture *m) {
    m->heaviest = 0;
    for (Count j = 0; j < m->num; j++) {
        m->weights[j] = exp(m->log_weights[j]);
        if (m->weights[j] > m->weights[m->heaviest]) m->heaviest = j;
    }
}

/* `LearntNoise.relative_score` and `FixedShare.update`, and the statistics of the memories. Returns the
   weighted mean of the squared errors. */
static double weigh(Mixture *m, const Sample *sample) {
    const Count row = m->num;
    const double scale = sample->scale, share = sample->share, power = -0.5 * (sample->degrees + 1);
    const double *rates = (double *)m->rates;
    double *away = (double *)m->error, *posterior = (double *)m->variance; /* both are read, then written */
    double squared_error = 0, least = INFINITY, total = 0;
    for (Count j = 0; j < m->num; j++) {
        const double doubt = posterior[j] + 1, square = away[j] * away[j] / doubt, rate = rates[j];
        const double kept[] = {rate, rate * rate, rate, rate * rate, rate, 1};
        const double gained[] = {sample->weight, sample->weight, 1, 1, square, square};
        for (Count k = 0; k < STATS; k++) m->stats[k * row + j] = kept[k] * m->stats[k * row + j] + gained[k];
        squared_error += m->weights[j] * square;
        away[j] = scale > 0 ? log1p(fmin(square / scale, m->worst)) : 0;
        least = fmin(least, away[j]);
        posterior[j] = m->log_weights[j] - (scale > 0 ? 0.5 * log(doubt) : 0);
    }
    for (Count j = 0; j < m->num; j++) {
        posterior[j] = exp(posterior[j] + power * (away[j] - least)); /* some score is near 0 */
        total += posterior[j];
    }
    for (Count j = 0; j < m->num; j++)
        m->log_weights[j] = log((1 - share) / total * posterior[j] + share * m->prior[j]);
    find_weights(m);
    return squared_error;
}

/* Factor the gram of a memory, plus what waits, into UᵀU, with 1 over the diagonal. False if it has no factor. */
FASTEST static bool factorise(double *factor, const double *gram, const double *waiting, Count d) {
    for (Count k = 0; k < d; k++)
        for (Count i = k; i < d; i++)
            factor[k * d + i] = gram[(i * d + k) * LANES] + (waiting ? waiting[i * d + k] : 0);
    for (Count k = 0; k < d; k++) {
        double *row = factor + k * d;
        row[k] = 1 / sqrt(row[k]);
        if (!(row[k] < INFINITY)) return false;
        for (Count i = k + 1; i < d; i++) row[i] *= row[k];
        for (Count i = k + 1; i < d; i++)
            for (Count c = i; c < d; c++) factor[i * d + c] -= row[i] * row[c];
    }
    return true;
}

/* `Width.excess`, from the factor of Λ and from Λ⁻¹b; the column has room for d numbers. */
FASTEST static double excess(
    const double *factor, const double *weights, double *column, Count d, double ridge, double variance
) {
    double size = 0, trace = 0;
    for (Count i = 0; i < d; i++) size += weights[i] * weights[i];
    const double most = ridge * size / variance;
    if (!(most > 1)) return 0;
    for (Count first = 0; first < d; first++) { /* U⁻ᵀ by columns */
        for (Count i = first; i < d; i++) column[i] = i == first;
        for (Count k = first; k < d; k++) {
            column[k] *= factor[k * d + k];
            trace += column[k] * column[k];
            for (Count i = k + 1; i < d; i++) column[i] -= factor[k * d + i] * column[k];
        }
    }
    return ridge * fmax(most / sqrt(fmax((double)d - ridge * trace, 1)) - 1, 0);
}

/* Upper bounds xᵀΛ⁻¹b + radius ‖x‖ of arms in memory j, with the norm by Λ⁻¹Λ̃Λ⁻¹, or by Λ⁻¹ where there is
   no Λ̃, and the excess of a learnt prior. False if Λ has no factor. */
FASTEST static bool bound(
    const Mixture *m, Count j, const Width *width, Count num_arms, const double *arms, double *index,
    double *bonus
) {
    const Count d = m->dim, block = j / LANES, lane = j % LANES;
    const double *gram = (double *)(m->gram + block * d * d) + lane, *waiting = width->waiting;
    const double *gram_sq = m->gram_sq ? (double *)(m->gram_sq + block * d * d) + lane : NULL;
    const double *cross = (double *)(m->cross + block * d) + lane;
    Lanes *x = m->work;
    double *weights = (double *)(m->work + d), *factor = weights + d; /* Λ⁻¹b and U */
    if (!factorise(factor, gram, NULL, d)) return false;
    for (Count i = 0; i < d; i++) weights[i] = cross[i * LANES];
    for (Count k = 0; k < d; k++) {
        weights[k] *= factor[k * d + k];
        for (Count i = k + 1; i < d; i++) weights[i] -= factor[k * d + i] * weights[k];
    }
    for (Count k = d - 1; k >= 0; k--) {
        for (Count i = k + 1; i < d; i++) weights[k] -= factor[k * d + i] * weights[i];
        weights[k] *= factor[k * d + k];
    }
    const double ridge = ((double *)m->ridges)[j], variance = width->variance;
    const double more = variance > 0 ? excess(factor, weights, (double *)x, d, ridge, variance) : 0;
    if (waiting && !factorise(factor, gram, waiting, d)) return false;
    for (Count first = 0; first < num_arms; first += LANES) {
        const Count some = num_arms - first < LANES ? num_arms - first : LANES;
        Lanes mean = {0}, norm = {0};
        for (Count i = 0; i < d; i++) {
            for (Count arm = 0; arm < LANES; arm++) x[i][arm] = arm < some ? arms[(first + arm) * d + i] : 0;
            mean += weights[i] * x[i];
        }
        for (Count k = 0; k < d; k++) { /* U⁻ᵀx */
            x[k] *= factor[k * d + k];
            norm += x[k] * x[k];
            for (Count i = k + 1; i < d; i++) x[i] -= factor[k * d + i] * x[k];
        }
        if (gram_sq || more > 0) {
            Lanes squares = {0};
            for (Count k = d - 1; k >= 0; k--) { /* U⁻¹U⁻ᵀx */
                for (Count i = k + 1; i < d; i++) x[k] -= factor[k * d + i] * x[i];
                x[k] *= factor[k * d + k];
                squares += x[k] * x[k];
            }
            if (gram_sq) norm = (Lanes){0};
            for (Count i = 0; gram_sq && i < d; i++) {
                Lanes half = 0.5 * (gram_sq[(i * d + i) * LANES] + (waiting ? waiting[i * d + i] : 0)) * x[i];
                for (Count k = 0; k < i; k++)
                    half += (gram_sq[(i * d + k) * LANES] + (waiting ? waiting[i * d + k] : 0)) * x[k];
                norm += 2 * half * x[i];
            }
            norm += more * squares;
        }
        for (Count arm = 0; arm < some; arm++) {
            bonus[first + arm] = width->radius * sqrt(fabs(norm[arm]));
            index[first + arm] = mean[arm] + bonus[first + arm];
        }
    }
    return true;
}

/* Allocate the arrays of a mixture whose sizes are set, all zero. False with an error if memory is short. */
static bool allocate(Mixture *m, bool squared) {
    const Count blocks = m->blocks, d = m->dim;
    Lanes *scalars; /* the arrays of double */
    struct {
        Lanes **array;
        Count size; /* in vectors */
    } parts[] = {
        {&m->rates, blocks}, {&m->ridges, blocks},   {&m->gram, blocks * d * d},
        {&m->error, blocks}, {&m->variance, blocks}, {&m->cross, blocks * d},
        {&scalars, (1 + ROWS) * blocks}, {&m->work, (d + 1) * (d + 2)}, {&m->gram_sq, blocks * d * d},
    };
    const size_t num = sizeof(parts) / sizeof(parts[0]) - !squared;
    Count total = 1; /* one to spare for the alignment */
    for (size_t i = 0; i < num; i++) total += parts[i].size;
    m->memory = PyMem_Calloc((size_t)total, sizeof(Lanes));
    if (!m->memory) return PyErr_NoMemory(), false;
    Lanes *next = (Lanes *)(((uintptr_t)m->memory + sizeof(Lanes) - 1) & ~(uintptr_t)(sizeof(Lanes) - 1));
    for (size_t i = 0; i < num; next += parts[i++].size) *parts[i].array = next;
    m->prior = (double *)scalars;
    m->stats = m->prior + m->num;
    m->log_weights = m->stats + STATS * m->num;
    m->weights = m->log_weights + m->num;
    return true;
}

/* Copy values [num, size] into the lanes [blocks, size, LANES]. */
static void fill_lanes(const Mixture *m, Lanes *lanes, const double *values, Count size) {
    for (Count j = 0; j < m->blocks * LANES; j++)
        for (Count i = 0; i < size; i++)
            lanes[j / LANES * size + i][j % LANES] = values[(j < m->num ? j : 0) * size + i];
}

/* Copy one memory of lanes [blocks, size, LANES] to values [size]. */
static void read_lanes(const Lanes *lanes, double *values, Count j, Count size) {
    for (Count i = 0; i < size; i++) values[i] = lanes[j / LANES * size + i][j % LANES];
}

/* Copy the symmetric matrix of one memory. Adding 0 removes the signs of zeros. */
static void read_matrix(const Mixture *m, const Lanes *lanes, double *values, Count j) {
    const Count d = m->dim;
    read_lanes(lanes, values, j, d * d);
    for (Count i = 0; i < d; i++)
        for (Count k = 0; k <= i; k++) values[k * d + i] = values[i * d + k] = values[i * d + k] + 0.0;
}

static void refuse_type(const char *name, const char *expected, PyObject *given) {
    PyObject *type = PyType_GetName(Py_TYPE(given));
    if (type) PyErr_Format(PyExc_TypeError, "%s: expected %s, got an object of type %U", name, expected, type);
    Py_XDECREF(type);
}

/* Set the number that an argument is. False with an error if it is none. */
static bool read_number(double *number, const char *name, PyObject *given) {
    if (!PyNumber_Check(given)) return refuse_type(name, "a number", given), false;
    *number = PyFloat_AsDouble(given);
    return *number != -1 || !PyErr_Occurred();
}

static void describe_shape(char *text, size_t size, int ndim, const Count *shape) {
    size_t used = (size_t)snprintf(text, size, "(");
    for (int i = 0; i < ndim && used < size; i++) {
        const char *end = i + 1 < ndim ? ", " : ndim == 1 ? "," : "";
        if (shape[i] < 0) used += (size_t)snprintf(text + used, size - used, "n%s", end);
        else used += (size_t)snprintf(text + used, size - used, "%lld%s", (long long)shape[i], end);
    }
    if (used < size) snprintf(text + used, size - used, ")");
}

/* The numbers of an array of this shape, in which -1 is any size, or NULL with an error. The view keeps them
   in place until it is released, and has to be zero before. */
static double *open_array(
    Py_buffer *view, const char *name, PyObject *array, int flags, int ndim, const Count *shape
) {
    if (!PyObject_CheckBuffer(array)) return refuse_type(name, "an array of 64-bit floats", array), NULL;
    if (PyObject_GetBuffer(array, view, flags | PyBUF_STRIDES | PyBUF_FORMAT)) return NULL;
    bool same = view->ndim == ndim;
    for (int i = 0; same && i < ndim; i++) same = shape[i] < 0 || view->shape[i] == shape[i];
    if (!same) {
        char expected[100], given[400];
        describe_shape(expected, sizeof expected, ndim, shape);
        describe_shape(given, sizeof given, view->ndim, view->shape);
        PyErr_Format(PyExc_ValueError, "%s: expected the shape %s, got %s", name, expected, given);
    } else if (view->itemsize != sizeof(double) || !view->format || strcmp(view->format, "d")) {
        const char *format = view->format ? view->format : "B";
        PyErr_Format(PyExc_ValueError, "%s: expected 64-bit floats, got the format '%s'", name, format);
    } else if (!PyBuffer_IsContiguous(view, 'C') || (uintptr_t)view->buf % sizeof(double)) {
        PyErr_Format(PyExc_ValueError, "%s: expected an aligned array in C order, got another layout", name);
    } else {
        return view->buf;
    }
    return NULL;
}

static void release_all(Py_buffer *views, size_t num) {
    for (size_t i = 0; i < num; i++) PyBuffer_Release(views + i); /* nothing for one that is zero */
}

/* Whether so many arguments came; an error otherwise. */
static bool require_count(const char *name, Count expected, Count given) {
    if (given == expected) return true;
    PyErr_Format(PyExc_TypeError, "%s() takes %zd arguments, got %zd", name, expected, given);
    return false;
}

/* The number of a memory, or -1 with an error. */
static Count memory_of(const Mixture *m, PyObject *number) {
    const Count j = PyLong_AsSsize_t(number);
    if (j == -1 && PyErr_Occurred()) return -1;
    if (j >= 0 && j < m->num) return j;
    PyErr_Format(PyExc_IndexError, "memory: expected a number from 0 to %zd, got %zd", m->num - 1, j);
    return -1;
}

/* Fill a new mixture from arrays, which are checked here. */
static bool fill(Mixture *m, PyObject *const *arrays, Py_buffer *views) {
    enum { RATES, RIDGES, PRIOR, GRAM, GRAM_SQ, CROSS, STATISTICS, LOG_WEIGHTS };
    const bool squared = arrays[GRAM_SQ] != Py_None;
    const Count any[] = {-1, -1};
    const double *cross = open_array(views + CROSS, "cross", arrays[CROSS], 0, 2, any);
    if (!cross) return false;
    m->num = views[CROSS].shape[0], m->dim = views[CROSS].shape[1], m->blocks = (m->num + LANES - 1) / LANES;
    if (m->num < 1 || m->dim < 1 || m->num > MOST || m->dim > MOST) {
        const char *text = "cross: expected 1 to %d memories and dimensions, got %zd and %zd";
        return PyErr_Format(PyExc_ValueError, text, MOST, m->num, m->dim), false;
    }
    const Count num[] = {m->num}, square[] = {m->num, m->dim, m->dim}, table[] = {STATS, m->num};
    const double *rates, *ridges, *prior, *gram, *gram_sq = NULL, *stats, *log_weights;
    if (!(rates = open_array(views + RATES, "rates", arrays[RATES], 0, 1, num)) ||
        !(ridges = open_array(views + RIDGES, "ridges", arrays[RIDGES], 0, 1, num)) ||
        !(prior = open_array(views + PRIOR, "prior", arrays[PRIOR], 0, 1, num)) ||
        !(gram = open_array(views + GRAM, "gram", arrays[GRAM], 0, 3, square)) ||
        (squared && !(gram_sq = open_array(views + GRAM_SQ, "gram_sq", arrays[GRAM_SQ], 0, 3, square))) ||
        !(stats = open_array(views + STATISTICS, "stats", arrays[STATISTICS], 0, 2, table)) ||
        !(log_weights = open_array(views + LOG_WEIGHTS, "log_weights", arrays[LOG_WEIGHTS], 0, 1, num)) ||
        !allocate(m, squared))
        return false;
    fill_lanes(m, m->rates, rates, 1);
    fill_lanes(m, m->ridges, ridges, 1);
    fill_lanes(m, m->gram, gram, m->dim * m->dim);
    if (squared) fill_lanes(m, m->gram_sq, gram_sq, m->dim * m->dim);
    fill_lanes(m, m->cross, cross, m->dim);
    memcpy(m->prior, prior, (size_t)m->num * sizeof(double));
    memcpy(m->stats, stats, (size_t)(STATS * m->num) * sizeof(double));
    memcpy(m->log_weights, log_weights, (size_t)m->num * sizeof(double));
    find_weights(m);
    return true;
}

static PyObject *mixture_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *arrays[8];
    Py_buffer views[8] = {{0}};
    double worst;
    if (kwargs && PyDict_Size(kwargs))
        return PyErr_Format(PyExc_TypeError, "Mixture() takes no keyword arguments");
    if (!PyArg_ParseTuple(
            args, "OOOOOOOOd:Mixture", arrays, arrays + 1, arrays + 2, arrays + 3, arrays + 4, arrays + 5,
            arrays + 6, arrays + 7, &worst
        ))
        return NULL;
    const allocfunc make = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    Mixture *m = (Mixture *)make(type, 0);
    if (!m) return NULL;
    m->worst = worst;
    if (!fill(m, arrays, views)) Py_CLEAR(m);
    release_all(views, 8);
    return (PyObject *)m;
}

static void mixture_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    const freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    PyMem_Free(((Mixture *)self)->memory);
    release(self);
    Py_DECREF(type);
}

/* The read-only view [ROWS, num] of statistics and weights, as bytes. */
static int mixture_view(PyObject *self, Py_buffer *view, int flags) {
    const Mixture *m = (Mixture *)self;
    return PyBuffer_FillInfo(view, self, m->stats, ROWS * m->num * (Count)sizeof(double), 1, flags);
}

static PyObject *mixture_heaviest(PyObject *self, void *closure) {
    (void)closure;
    return PyLong_FromSsize_t(((Mixture *)self)->heaviest);
}

/* The six numbers of a sample, and last, since numbers may run code of their own, its features. */
static bool open_sample(const Mixture *m, PyObject *const *args, Sample *sample, Py_buffer *view) {
    return read_number(&sample->reward, "reward", args[1]) && read_number(&sample->weight, "weight", args[2]) &&
           read_number(&sample->degrees, "degrees", args[3]) && read_number(&sample->scale, "scale", args[4]) &&
           read_number(&sample->share, "share", args[5]) && read_number(&sample->limit, "limit", args[6]) &&
           (sample->features = open_array(view, "features", args[0], 0, 1, &m->dim));
}

static PyObject *mixture_learn(PyObject *self, PyObject *const *args, Count num) {
    Mixture *m = (Mixture *)self;
    Sample sample;
    Py_buffer view = {0};
    PyObject *result = NULL;
    if (!require_count("learn", 7, num)) return NULL;
    if (open_sample(m, args, &sample, &view)) {
        if (forecast(m, &sample)) {
            clip(m, &sample);
            const double squared_error = weigh(m, &sample);
            absorb(m, &sample);
            result = PyFloat_FromDouble(squared_error);
        } else {
            result = Py_NewRef(Py_None);
        }
    }
    PyBuffer_Release(&view);
    return result;
}

static PyObject *mixture_learn_forecast(PyObject *self, PyObject *const *args, Count num) {
    Mixture *m = (Mixture *)self;
    Sample sample;
    Py_buffer views[3] = {{0}};
    const double *error, *variance;
    PyObject *result = NULL;
    if (!require_count("learn_forecast", 9, num)) return NULL;
    if (open_sample(m, args, &sample, views) &&
        (error = open_array(views + 1, "error", args[7], 0, 1, &m->num)) &&
        (variance = open_array(views + 2, "variance", args[8], 0, 1, &m->num))) {
        memcpy(m->error, error, (size_t)m->num * sizeof(double));
        memcpy(m->variance, variance, (size_t)m->num * sizeof(double));
        clip(m, &sample);
        const double squared_error = weigh(m, &sample);
        absorb(m, &sample);
        result = PyFloat_FromDouble(squared_error);
    }
    release_all(views, 3);
    return result;
}

static PyObject *mixture_bounds(PyObject *self, PyObject *const *args, Count num) {
    const Mixture *m = (Mixture *)self;
    Py_buffer views[4] = {{0}};
    const double *arms;
    double *index, *bonus;
    PyObject *result = NULL;
    Width width = {0};
    if (!require_count("bounds", 7, num) || !read_number(&width.radius, "radius", args[1]) ||
        !read_number(&width.variance, "variance", args[2]))
        return NULL;
    const Count j = memory_of(m, args[0]), shape[] = {-1, m->dim}, square[] = {m->dim, m->dim};
    if (j < 0) return NULL;
    if ((args[3] == Py_None || (width.waiting = open_array(views + 3, "waiting", args[3], 0, 2, square))) &&
        (arms = open_array(views, "arms", args[4], 0, 2, shape)) &&
        (index = open_array(views + 1, "index", args[5], PyBUF_WRITABLE, 1, views[0].shape)) &&
        (bonus = open_array(views + 2, "bonus", args[6], PyBUF_WRITABLE, 1, views[0].shape)))
        result = PyBool_FromLong(bound(m, j, &width, views[0].shape[0], arms, index, bonus));
    release_all(views, 4);
    return result;
}

static PyObject *mixture_read(PyObject *self, PyObject *const *args, Count num) {
    const Mixture *m = (Mixture *)self;
    Py_buffer views[3] = {{0}};
    double *gram, *gram_sq = NULL, *cross;
    PyObject *result = NULL;
    if (!require_count("read", 4, num)) return NULL;
    const Count j = memory_of(m, args[0]), square[] = {m->dim, m->dim};
    if (j < 0) return NULL;
    if (!m->gram_sq != (args[2] == Py_None)) {
        const char *text = "gram_sq: expected %s, as when the mixture was made";
        return PyErr_Format(PyExc_ValueError, text, m->gram_sq ? "an array" : "None");
    }
    if ((gram = open_array(views, "gram", args[1], PyBUF_WRITABLE, 2, square)) &&
        (!m->gram_sq || (gram_sq = open_array(views + 1, "gram_sq", args[2], PyBUF_WRITABLE, 2, square))) &&
        (cross = open_array(views + 2, "cross", args[3], PyBUF_WRITABLE, 1, &m->dim))) {
        read_matrix(m, m->gram, gram, j);
        if (gram_sq) read_matrix(m, m->gram_sq, gram_sq, j);
        read_lanes(m->cross, cross, j, m->dim);
        result = Py_NewRef(Py_None);
    }
    release_all(views, 3);
    return result;
}

static PyObject *mixture_renew(PyObject *self, PyObject *const *args, Count num) {
    Mixture *m = (Mixture *)self;
    if (!require_count("renew", 1, num)) return NULL;
    const Count source = memory_of(m, args[0]), last = m->num - 1, d = m->dim;
    if (source < 0) return NULL;
    Lanes *const sums[] = {m->gram, m->cross, m->gram_sq};
    const Count sizes[] = {d * d, d, d * d};
    for (int k = 0; k < (m->gram_sq ? 3 : 2); k++) {
        const Lanes *from = sums[k] + source / LANES * sizes[k];
        Lanes *to = sums[k] + last / LANES * sizes[k];
        for (Count i = 0; i < sizes[k]; i++) to[i][last % LANES] = from[i][source % LANES];
    }
    for (Count k = 0; k < STATS; k++) m->stats[k * m->num + last] = m->stats[k * m->num + source];
    Py_RETURN_NONE;
}

#define METHOD(name, function, text) {name, (PyCFunction)(void (*)(void))function, METH_FASTCALL, text}

static PyMethodDef methods[] = {
    METHOD("learn", mixture_learn,
           "learn(features, reward, weight, degrees, scale, share, limit)\n\nLearn from a sample and return its "
           "squared error; None, and nothing changed, if a matrix has no factor."),
    METHOD("learn_forecast", mixture_learn_forecast,
           "learn_forecast(features, reward, weight, degrees, scale, share, limit, error, variance)\n\nLearn from a "
           "sample whose errors and variances in all memories are known."),
    METHOD("bounds", mixture_bounds,
           "bounds(memory, radius, variance, waiting, arms, index, bonus)\n\nFill the indices and the bonuses of arms in a "
           "memory; False if its matrix has no factor."),
    METHOD("read", mixture_read,
           "read(memory, gram, gram_sq, cross)\n\nFill arrays with the sums of a memory."),
    METHOD("renew", mixture_renew, "renew(source)\n\nLet the last memory continue from a copy of another."),
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef attributes[] = {
    {"heaviest", mixture_heaviest, NULL, "The number of the memory with the largest weight.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot mixture_slots[] = {
    {Py_tp_doc, "Mixture(rates, ridges, prior, gram, gram_sq, cross, stats, log_weights, worst)\n\nMemories "
                "with their weights. As a buffer: statistics, logarithms of the weights, weights."},
    {Py_tp_new, mixture_new},
    {Py_tp_dealloc, mixture_dealloc},
    {Py_tp_methods, methods},
    {Py_tp_getset, attributes},
    {Py_bf_getbuffer, mixture_view},
    {0, NULL},
};

static PyType_Spec mixture_spec = {
    .name = "driftwise.online.deciders._mixture.Mixture",
    .basicsize = sizeof(Mixture),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = mixture_slots,
};

static int fill_module(PyObject *module) {
    PyObject *type = PyType_FromModuleAndSpec(module, &mixture_spec, NULL);
    const int failed = !type || PyModule_AddType(module, (PyTypeObject *)type);
    Py_XDECREF(type);
    return failed || PyModule_AddIntConstant(module, "INTERFACE", INTERFACE) ||
                   PyModule_AddStringConstant(module, "SOURCE", SOURCE)
               ? -1
               : 0;
}

static PyModuleDef_Slot module_slots[] = {{Py_mod_exec, fill_module}, {0, NULL}};

static struct PyModuleDef module = {
    .m_base = PyModuleDef_HEAD_INIT, .m_name = "_mixture", .m_size = 0, .m_slots = module_slots
};

PyMODINIT_FUNC PyInit__mixture(void) { return PyModuleDef_Init(&module); }
